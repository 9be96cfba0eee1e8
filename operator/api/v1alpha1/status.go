package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HTAPClusterStatus is what the operator has seen.
type HTAPClusterStatus struct {
	// ObservedGeneration is the metadata.generation that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, OLTPReady, PipelineReady, IsolationApplied, ReplicasFresh and SnapshotConsistent.
	//
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Units is the state of each unit.
	//
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Units []UnitStatus `json:"units,omitempty"`

	// Staleness is the greatest of all fresh units, rounded up to 1s, 2s, 5s, 10s, 30s, 1m and so on, so that an unchanged cluster has an
	// unchanged status. Metric freshet_replica_staleness_seconds has the exact one. Empty: no unit is fresh.
	//
	// +optional
	Staleness string `json:"staleness,omitempty"`

	// Fresh is the number of units in service, of how many: 2/3.
	//
	// +optional
	Fresh string `json:"fresh,omitempty"`

	// Replicas is the number of units that have a pod, and Selector finds their pods; both are for kubectl scale and autoscalers.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// +optional
	Selector string `json:"selector,omitempty"`

	// Endpoint is host:port of the SQL endpoint inside of the Kubernetes cluster.
	//
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// ConnectionSecret names the Secret with the database's credentials for applications, which are also those for the endpoint.
	//
	// +optional
	ConnectionSecret string `json:"connectionSecret,omitempty"`

	// LastBackup is when the newest base backup of the archive had been taken. Absent: there is none.
	//
	// +optional
	LastBackup *metav1.Time `json:"lastBackup,omitempty"`
}

// UnitStatus is the state of one unit.
type UnitStatus struct {
	// Name of the pod.
	Name string `json:"name"`

	// Phase of the unit.
	Phase UnitPhase `json:"phase"`

	// Position is the source position of the unit's snapshot when its phase last changed. It is not refreshed otherwise.
	//
	// +optional
	Position string `json:"position,omitempty"`

	// Staleness of the unit's snapshot, rounded up as that of the cluster. Empty: it has none, or its gateway does not answer.
	//
	// +optional
	Staleness string `json:"staleness,omitempty"`

	// Message says what is wrong, or what the unit waits for.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// UnitPhase is what a unit does.
//
// +kubebuilder:validation:Enum=Pending;Unreachable;Starting;Copying;Stale;Fresh;Stopped
type UnitPhase string

// The phases of a unit.
const (
	// UnitPending units have no running pod.
	UnitPending UnitPhase = "Pending"
	// UnitUnreachable units run, but do not say how they are.
	UnitUnreachable UnitPhase = "Unreachable"
	// UnitStarting units have no snapshot yet.
	UnitStarting UnitPhase = "Starting"
	// UnitCopying units copy a table.
	UnitCopying UnitPhase = "Copying"
	// UnitStale units have a snapshot older than the objective.
	UnitStale UnitPhase = "Stale"
	// UnitFresh units are in service.
	UnitFresh UnitPhase = "Fresh"
	// UnitStopped units wait for a person.
	UnitStopped UnitPhase = "Stopped"
)

// The condition types of an HTAPCluster.
const (
	// ConditionReady is true when OLTPReady, PipelineReady, IsolationApplied, ReplicasFresh and SnapshotConsistent are.
	ConditionReady = "Ready"
	// ConditionOLTPReady says that the database is there and can be replicated.
	ConditionOLTPReady = "OLTPReady"
	// ConditionPipelineReady says that every unit follows the database's changes.
	ConditionPipelineReady = "PipelineReady"
	// ConditionIsolationApplied says that database and units run as the isolation mode has it.
	ConditionIsolationApplied = "IsolationApplied"
	// ConditionReplicasFresh says that every unit meets the objective of freshness.
	ConditionReplicasFresh = "ReplicasFresh"
	// ConditionSnapshotConsistent says that every unit has a snapshot with all selected tables. It does not say that answers could be
	// inconsistent otherwise: a table that is not in the snapshot is read from the database.
	ConditionSnapshotConsistent = "SnapshotConsistent"
)
