package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// ColumnarSpec are the replica units. Each is one pod: a columnar engine, a full copy of the tables, and the gateway that feeds and
// queries it.
type ColumnarSpec struct {
	// Units is their number. A unit that is taken away loses its volume, which is a copy, and its replication slot. One unit is out of service
	// while it restarts; of two or more one restarts at a time, the next when the one before is fresh again.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Units int32 `json:"units,omitempty"`

	// Image has the program clickhouse-server. Empty: what the operator was started with.
	//
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Image string `json:"image,omitempty"`

	// Tables selects the tables that are replicated. A change restarts the units one by one.
	//
	// +kubebuilder:default={}
	// +optional
	Tables TablesSpec `json:"tables,omitzero"`

	// Storage is the volume of each unit. Its size may grow while the units run.
	//
	// +kubebuilder:default={}
	// +optional
	Storage DataStorageSpec `json:"storage,omitzero"`

	// Resources of each unit's engine. It uses at most nine tenths of the memory for data and queries.
	//
	// +kubebuilder:default={cpu: "2", memory: "4Gi"}
	// +optional
	Resources ResourcesSpec `json:"resources,omitzero"`

	// NodePoolRef names the nodes that the units run on; without it, any.
	//
	// +optional
	NodePoolRef *NodePoolReference `json:"nodePoolRef,omitempty"`
}

// TablesSpec selects tables by patterns on schema.table, in which * stands for any characters.
type TablesSpec struct {
	// Include are the patterns of the tables that are replicated.
	//
	// +kubebuilder:default={"public.*"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Include []TablePattern `json:"include,omitempty"`

	// Exclude are the patterns of the tables that are not, although Include has them.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Exclude []TablePattern `json:"exclude,omitempty"`
}

// TablePattern is a pattern on schema.table.
//
// +kubebuilder:validation:Pattern=`^[^.,\s]+\.[^.,\s]+$`
// +kubebuilder:validation:MaxLength=128
type TablePattern string

// StorageSpec is a volume.
type StorageSpec struct {
	// Size in bytes, with a suffix such as Gi. It may be raised where the volume's storage class has allowVolumeExpansion.
	//
	// +kubebuilder:default="20Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="size: give more than 0"
	// +optional
	Size resource.Quantity `json:"size,omitzero"`

	// StorageClassName of the claim. Absent: the cluster's default class.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// DataStorageSpec is a volume with data, which can grow and else stays as it is.
//
// +kubebuilder:validation:XValidation:rule="!has(self.size) || !has(oldSelf.size) || !quantity(string(self.size)).isLessThan(quantity(string(oldSelf.size)))",message="a volume cannot shrink: give the size that it has or a bigger one, or create another HTAPCluster and move the data"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot be changed: a volume stays in its class; create another HTAPCluster and move the data"
type DataStorageSpec StorageSpec

// ResourcesSpec is what a container gets: requests and limits are equal, so that the pod is of QoS class Guaranteed and whole CPUs can be
// pinned by the kubelet.
type ResourcesSpec struct {
	// CPU in cores, such as 2 or 500m.
	//
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('10m'))",message="cpu: give 10m at least"
	// +required
	CPU resource.Quantity `json:"cpu"`

	// Memory in bytes, with a suffix such as Gi.
	//
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('64Mi'))",message="memory: give 64Mi at least"
	// +required
	Memory resource.Quantity `json:"memory"`
}
