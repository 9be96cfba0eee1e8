package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HTAPNodePool is a set of nodes for databases or for units.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=htnp,categories=freshet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Equipped",type=string,JSONPath=`.status.conditions[?(@.type=="Equipped")].reason`
// +kubebuilder:printcolumn:name="HugePages",type=string,JSONPath=`.spec.hugePages.amount`,priority=1
// +kubebuilder:printcolumn:name="RDMA",type=string,JSONPath=`.spec.rdma.resourceName`,priority=1
// +kubebuilder:printcolumn:name="CPUPinning",type=boolean,JSONPath=`.spec.cpuPinning`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HTAPNodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   HTAPNodePoolSpec   `json:"spec"`
	Status HTAPNodePoolStatus `json:"status,omitempty"`
}

// HTAPNodePoolList is a list of HTAPNodePools.
//
// +kubebuilder:object:root=true
type HTAPNodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HTAPNodePool `json:"items"`
}

// HTAPNodePoolSpec says which nodes, and what of them pods get besides CPU and memory. A change replaces the pods one by one.
type HTAPNodePoolSpec struct {
	// NodeSelector are labels that the nodes have. Pods of the pool run there only.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +required
	NodeSelector map[string]string `json:"nodeSelector"`

	// Tolerations of the pool's pods, for nodes that are tainted to keep others off.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.operator) && t.operator == 'Exists' ? !has(t.value) || t.value == '' : has(t.key) && t.key != '')",message="tolerations: with operator Exists leave value out; with another give key"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.tolerationSeconds) || has(t.effect) && t.effect == 'NoExecute')",message="tolerations: tolerationSeconds are for effect NoExecute"
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// HugePages that each pod of a database or unit gets, besides its memory. Absent: none. The builtin PostgreSQL has its shared buffers there.
	// CockroachDB and ClickHouse do not use pages that are set aside, but transparent ones, which need nothing here.
	//
	// +optional
	HugePages *HugePagesSpec `json:"hugePages,omitempty"`

	// RDMA devices that each pod of a database or unit gets. Absent: none. Nothing of Freshet's own uses them.
	//
	// +optional
	RDMA *RDMASpec `json:"rdma,omitempty"`

	// CPUPinning refuses to run pods with parts of CPUs here: a kubelet with the static CPU manager gives CPUs of their own to containers with
	// whole ones only. Whether the nodes' kubelets have it is not seen. false: any.
	//
	// +optional
	CPUPinning bool `json:"cpuPinning,omitempty"`
}

// HugePagesSpec are huge pages of one size, which the nodes have set aside.
//
// +kubebuilder:validation:XValidation:rule="!has(self.amount) || quantity(string(self.amount)).isGreaterThan(quantity('0')) && quantity(string(self.amount)).isInteger() && quantity(string(self.amount)).asInteger() % (self.size == '1Gi' ? 1073741824 : 2097152) == 0",message="amount: give one page or more, whole ones, and no fraction: 1536Mi instead of 1.5Gi"
type HugePagesSpec struct {
	// Size of a page in bytes.
	//
	// +kubebuilder:default="2Mi"
	// +kubebuilder:validation:Enum="2Mi";"1Gi"
	// +optional
	Size string `json:"size,omitempty"`

	// Amount for each pod in bytes, with a suffix such as Gi, a multiple of the size.
	//
	// +required
	Amount resource.Quantity `json:"amount"`
}

// RDMASpec are devices of one kind, which a device plugin offers on the nodes.
type RDMASpec struct {
	// ResourceName is the plugin's name for them, such as rdma/hca_shared_devices_a.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/')[0].endsWith('kubernetes.io')",message="resourceName: names of kubernetes.io are no devices"
	// +required
	ResourceName string `json:"resourceName"`

	// Count for each pod.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Count int32 `json:"count,omitempty"`
}

// HTAPNodePoolStatus is what the operator has seen. It has what nodes offer in all, and not what of it is free.
type HTAPNodePoolStatus struct {
	// ObservedGeneration is the metadata.generation that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready: a node of the pool takes pods; and Equipped: every node has the huge pages and devices that each pod gets.
	//
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Ready is the number of nodes that take pods, of how many: 2/3.
	//
	// +optional
	Ready string `json:"ready,omitempty"`

	// Nodes are the first 100 in the order of their names.
	//
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Nodes []NodeStatus `json:"nodes,omitempty"`
}

// NodeStatus is one node of a pool.
type NodeStatus struct {
	// Name of the node.
	Name string `json:"name"`

	// Takes says whether the node takes pods of this pool.
	Takes bool `json:"takes"`

	// Message says why it does not.
	//
	// +optional
	Message string `json:"message,omitempty"`

	// Architecture of its CPUs, such as amd64.
	//
	// +optional
	Architecture string `json:"architecture,omitempty"`

	// Zone that it is in, by its label topology.kubernetes.io/zone. Empty: it has none.
	//
	// +optional
	Zone string `json:"zone,omitempty"`

	// Allocatable is what it offers to all pods together.
	//
	// +optional
	Allocatable NodeResources `json:"allocatable,omitzero"`

	// NUMA says how many NUMA nodes it has: a number by its NodeResourceTopology; by a label of Node Feature Discovery single, or several;
	// unknown where there is neither.
	//
	// +optional
	NUMA string `json:"numa,omitempty"`

	// TopologyPolicy is the policy of its kubelet's topology manager, such as single-numa-node, by its NodeResourceTopology. Empty: unknown.
	//
	// +optional
	TopologyPolicy string `json:"topologyPolicy,omitempty"`

	// NUMANodes are the first 8 by its NodeResourceTopology, with what each offers.
	//
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +optional
	NUMANodes []NUMANodeStatus `json:"numaNodes,omitempty"`
}

// NUMANodeStatus is one NUMA node of a node.
type NUMANodeStatus struct {
	// Name of the NUMA node.
	Name string `json:"name"`

	// Allocatable is what it offers to all pods together.
	//
	// +optional
	Allocatable NodeResources `json:"allocatable,omitzero"`
}

// NodeResources are what there is for pods.
type NodeResources struct {
	// CPU in cores.
	//
	// +optional
	CPU resource.Quantity `json:"cpu,omitzero"`

	// Memory in bytes, huge pages not included.
	//
	// +optional
	Memory resource.Quantity `json:"memory,omitzero"`

	// HugePages in bytes, by the size of a page.
	//
	// +kubebuilder:validation:MaxProperties=8
	// +optional
	HugePages map[string]resource.Quantity `json:"hugePages,omitempty"`

	// RDMA devices by resource name: the pool's own, and those whose names begin with rdma/.
	//
	// +kubebuilder:validation:MaxProperties=8
	// +optional
	RDMA map[string]resource.Quantity `json:"rdma,omitempty"`
}

// ConditionEquipped says that every node of a pool has what each pod gets.
const ConditionEquipped = "Equipped"

// Equipment is what each pod of a database or unit gets besides CPU and memory, by the names of Kubernetes.
func (s *HTAPNodePoolSpec) Equipment() corev1.ResourceList {
	list := corev1.ResourceList{}
	if s.HugePages != nil {
		list[corev1.ResourceName(corev1.ResourceHugePagesPrefix+s.HugePages.Size)] = s.HugePages.Amount
	}
	if s.RDMA != nil {
		list[corev1.ResourceName(s.RDMA.ResourceName)] = *resource.NewQuantity(int64(s.RDMA.Count), resource.DecimalSI)
	}
	return list
}
