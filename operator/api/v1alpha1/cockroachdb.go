package v1alpha1

// CockroachDBSpec is a CockroachDB that the operator runs. Its changes come by a changefeed over Kafka.
//
// +kubebuilder:validation:XValidation:rule="self.replicas == 1 || self.replicas >= 3",message="replicas: use 1, or 3 and more: two nodes stand still when one is away"
// +kubebuilder:validation:XValidation:rule="self.replicas >= 3 || self.replicas >= oldSelf.replicas",message="replicas cannot be reduced below 3: rows are on three nodes"
type CockroachDBSpec struct {
	// Image is CockroachDB's official image, v25.2 or later. A change replaces the nodes one by one. Go from one release to the next, and back only
	// while the upgrade is not finalized.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	Image string `json:"image"`

	// Finalization of an upgrade. Automatic: CockroachDB finalizes it when all nodes run the new release. Manual: it does not, so that the
	// image may be changed back, until this is set to Automatic. Set Manual, and let OLTPReady be true, before you change the image.
	//
	// +kubebuilder:default=Automatic
	// +optional
	Finalization Finalization `json:"finalization,omitempty"`

	// Replicas is the number of nodes. Rows are on three of them. When it is reduced, the nodes with the highest numbers are decommissioned: their
	// rows move to the others first, then their pods end, and their volumes are deleted whatever deletionPolicy says, for such a node can never come
	// back. All nodes must run when that begins, and it may take hours; raising replicas meanwhile keeps the nodes.
	//
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Database is created, with its owner, when the nodes first answer, and is the one that is replicated.
	//
	// +kubebuilder:default=app
	// +kubebuilder:validation:Pattern=`^[a-z_][a-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the database cannot be renamed"
	// +optional
	Database string `json:"database,omitempty"`

	// Storage is the volume of each node. Its size may grow while the nodes run.
	//
	// +kubebuilder:default={}
	// +optional
	Storage DataStorageSpec `json:"storage,omitzero"`

	// Resources of each node. A quarter of the memory is for its cache, and another for SQL.
	//
	// +kubebuilder:default={cpu: "2", memory: "8Gi"}
	// +optional
	Resources ResourcesSpec `json:"resources,omitzero"`

	// NodePoolRef names the nodes that the pods run on; without it, any.
	//
	// +optional
	NodePoolRef *NodePoolReference `json:"nodePoolRef,omitempty"`
}

// Finalization says who finalizes upgrades.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type Finalization string

// The ways of finalization.
const (
	FinalizationAutomatic Finalization = "Automatic"
	FinalizationManual    Finalization = "Manual"
)
