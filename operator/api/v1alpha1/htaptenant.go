package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HTAPTenant is a set of users who share what they may use of an HTAPCluster's analytical CPU.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=htt,categories=freshet
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Shares",type=integer,JSONPath=`.spec.shares`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="Applied")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name: use at most 63 characters, it is a label of metrics"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'default' || !has(self.spec.users) || size(self.spec.users) == 0",message="metadata.name: default is the tenant of users who are in no other; leave users out, or choose another name"
type HTAPTenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   HTAPTenantSpec   `json:"spec"`
	Status HTAPTenantStatus `json:"status,omitempty"`
}

// HTAPTenantList is a list of HTAPTenants.
//
// +kubebuilder:object:root=true
type HTAPTenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HTAPTenant `json:"items"`
}

// HTAPTenantSpec is what a user wants.
type HTAPTenantSpec struct {
	// ClusterRef names the HTAPCluster, in the tenant's namespace.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the cluster cannot be changed: create another HTAPTenant"
	// +required
	ClusterRef ClusterReference `json:"clusterRef"`

	// Users are database roles, as they authenticate at the endpoint; SET ROLE changes nothing. Absent: all who are in no other tenant of the
	// cluster, of which one tenant at most may be. A user is in one tenant: of two that name it the older one has it.
	//
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	Users []RoleName `json:"users,omitempty"`

	// Shares weigh the tenant against those that want CPU at the same time: of two tenants with 400 and 200 the first gets twice the CPU time of
	// the second. They bound nothing: what others leave is there for anyone. Users who are in no tenant have 100.
	//
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Shares int32 `json:"shares,omitempty"`

	// Limits bound what the tenant may use of each unit, whether others want it or not.
	//
	// +optional
	Limits TenantLimits `json:"limits,omitzero"`

	// Freshness is that of sessions that set none, running ones included. Absent: the cluster's, gateway.freshness.default.
	//
	// +optional
	Freshness *SessionFreshness `json:"freshness,omitempty"`
}

// RoleName is the name of a database role.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[^\x00-\x1f]+$`
// +kubebuilder:validation:XValidation:rule="!self.startsWith('pg_')",message="names that begin with pg_ are the database's own"
type RoleName string

// ClusterReference names an HTAPCluster.
type ClusterReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +required
	Name string `json:"name"`
}

// TenantLimits bound what a tenant may use of each unit. A statement that meets one fails; the database does not run it instead.
type TenantLimits struct {
	// Concurrency is how many statements run in a unit's engine at once; others wait. 0: no bound but the unit's own.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Concurrency int32 `json:"concurrency,omitempty"`

	// Queue is how many statements may wait in a unit; one more fails with SQLSTATE 53400. 0: no bound.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Queue int32 `json:"queue,omitempty"`

	// Memory that one statement may use in the engine, in bytes, with a suffix such as Mi; SQLSTATE 53200 ends one that needs more. Absent: no
	// bound but the engine's.
	//
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('1Mi')) && quantity(string(self)).isLessThan(quantity('1Pi'))",message="memory: give 1Mi at least, and less than 1Pi"
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// Time that one statement may run in the engine, its time in the queue not counted; SQLSTATE 57014 ends it after that. Absent: no bound.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10ms') && duration(self) <= duration('24h')",message="time: give a duration between 10ms and 24h"
	// +optional
	Time *metav1.Duration `json:"time,omitempty"`
}

// HTAPTenantStatus is what the operator has seen.
type HTAPTenantStatus struct {
	// ObservedGeneration is the metadata.generation that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Accepted and Applied.
	//
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The condition types of an HTAPTenant.
const (
	// ConditionAccepted says that the cluster is there and no older tenant has what this one claims.
	ConditionAccepted = "Accepted"
	// ConditionApplied says that every unit in service has said that it uses the tenants as they are now.
	ConditionApplied = "Applied"
)
