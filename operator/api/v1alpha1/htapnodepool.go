package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HTAPNodePool is a set of nodes for databases or for units.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=htnp,categories=freshet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.ready`
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

// HTAPNodePoolSpec says which nodes.
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
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// HTAPNodePoolStatus is what the operator has seen.
type HTAPNodePoolStatus struct {
	// ObservedGeneration is the metadata.generation that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready: a node of the pool takes pods.
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
}
