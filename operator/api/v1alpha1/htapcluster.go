package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HTAPCluster is a transactional database, columnar replica units that follow it, and one SQL endpoint before both.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.columnar.units,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=htap,categories=freshet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Staleness",type=string,JSONPath=`.status.staleness`
// +kubebuilder:printcolumn:name="Units",type=string,JSONPath=`.status.fresh`
// +kubebuilder:printcolumn:name="Endpoint",type=string,priority=1,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="metadata.name: use at most 40 characters, names of pods are made of it"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.')",message="metadata.name: use no dots, names of services are made of it"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]')",optionalOldSelf=true,message="metadata.name: begin with a letter, names of services are made of it"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.oltp) || !has(self.spec.oltp.postgresql) || !has(self.spec.oltp.postgresql.recovery) || !has(self.spec.oltp.postgresql.recovery.claimName) || self.spec.oltp.postgresql.recovery.claimName != self.metadata.name + '-oltp-archive'",message="recovery.claimName: it is this cluster's own archive; give the HTAPCluster another name"
type HTAPCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   HTAPClusterSpec   `json:"spec"`
	Status HTAPClusterStatus `json:"status,omitempty"`
}

// HTAPClusterList is a list of HTAPClusters.
//
// +kubebuilder:object:root=true
type HTAPClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HTAPCluster `json:"items"`
}

// HTAPClusterSpec is what a user wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.oltp) && self.oltp.engine == 'cockroachdb' ? has(self.cdc) && has(self.cdc.kafka) : true",message="engine cockroachdb: its changes come by Kafka; use cdc.transport kafka"
// +kubebuilder:validation:XValidation:rule="has(self.oltp) && has(self.cdc) && has(self.cdc.kafka) && (has(self.cdc.kafka.external) || has(self.cdc.kafka.strimzi)) ? (self.oltp.engine != 'cockroachdb') == (has(self.cdc.kafka.connect) || has(self.cdc.kafka.strimzi) && has(self.cdc.kafka.strimzi.connect)) : true",message="cdc.kafka: a PostgreSQL needs connect, a CockroachDB has no use for it"
// +kubebuilder:validation:XValidation:rule="!(has(self.oltp) && self.oltp.engine == 'external' && has(self.isolation) && has(self.isolation.mode) && self.isolation.mode == 'dedicated')",message="isolation.mode dedicated: where an external database runs is not known; choose the units' nodes by columnar.nodePoolRef"
type HTAPClusterSpec struct {
	// OLTP is the transactional database.
	//
	// +required
	OLTP OLTPSpec `json:"oltp"`

	// CDC is the way that changes take from the database to the units.
	//
	// +kubebuilder:default={}
	// +optional
	CDC CDCSpec `json:"cdc,omitzero"`

	// Columnar are the replica units.
	//
	// +kubebuilder:default={}
	// +optional
	Columnar ColumnarSpec `json:"columnar,omitzero"`

	// Gateway is the SQL endpoint, one process in each unit.
	//
	// +kubebuilder:default={}
	// +optional
	Gateway GatewaySpec `json:"gateway,omitzero"`

	// Isolation says what the database and the units may share.
	//
	// +kubebuilder:default={}
	// +optional
	Isolation IsolationSpec `json:"isolation,omitzero"`

	// DeletionPolicy says what becomes of the volumes when the HTAPCluster is deleted. Replication slots and publications in the database
	// are removed in either case. Retain keeps the builtin database's volume, and CloudNativePG's Cluster in hibernation; the units' are copies, and always go.
	//
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy says what becomes of volumes.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

// The deletion policies.
const (
	Retain DeletionPolicy = "Retain"
	Delete DeletionPolicy = "Delete"
)

// NodePoolReference names an HTAPNodePool.
type NodePoolReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// SecretReference names a Secret in the namespace of the object that refers to it.
type SecretReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}
