package v1alpha1

// IsolationSpec says what the database and the units may share.
type IsolationSpec struct {
	// Mode shared lets a node run both: each of their pods has its own CPU and memory (QoS class Guaranteed), and they share the node's caches, memory
	// bandwidth, disks and network. Mode dedicated never runs a unit on a node that runs the database, and units wait until there are nodes
	// enough. A changed mode replaces the units one by one, and the database not at all. Where an external database runs the operator does not know: dedicated is for
	// those that it provides.
	//
	// +kubebuilder:default=shared
	// +optional
	Mode IsolationMode `json:"mode,omitempty"`
}

// IsolationMode says whether a node may run both the database and units.
//
// +kubebuilder:validation:Enum=shared;dedicated
type IsolationMode string

// The isolation modes.
const (
	IsolationShared    IsolationMode = "shared"
	IsolationDedicated IsolationMode = "dedicated"
)
