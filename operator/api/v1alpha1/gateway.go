package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GatewaySpec is the SQL endpoint.
type GatewaySpec struct {
	// Image has the program freshet. Empty: what the operator was started with.
	//
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Image string `json:"image,omitempty"`

	// Freshness says how old answers may be.
	//
	// +kubebuilder:default={}
	// +optional
	Freshness FreshnessSpec `json:"freshness,omitzero"`

	// DrainTime is how long clients of a unit that is replaced or taken away have to leave by themselves, while it serves them as ever and
	// new ones are led to others. Sessions that are left then end with 57P01. Pools should renew connections more often than this.
	//
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="drainTime: give a duration between 1s and 1h"
	// +optional
	DrainTime metav1.Duration `json:"drainTime,omitzero"`

	// TLS is the endpoint's certificate.
	//
	// +kubebuilder:default={}
	// +optional
	TLS TLSSpec `json:"tls,omitzero"`

	// Resources of each unit's gateway. It holds 12 bytes and more for each replicated row.
	//
	// +kubebuilder:default={cpu: "1", memory: "1Gi"}
	// +optional
	Resources ResourcesSpec `json:"resources,omitzero"`
}

// FreshnessSpec says how old answers may be.
type FreshnessSpec struct {
	// Objective is the staleness above which a unit leaves the endpoint's Service, until it is fresher again.
	//
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1h')",message="objective: give a duration between 100ms and 1h"
	// +optional
	Objective metav1.Duration `json:"objective,omitzero"`

	// Default is the freshness of sessions that set none.
	//
	// +kubebuilder:default={}
	// +optional
	Default SessionFreshness `json:"default,omitzero"`
}

// SessionFreshness is a session's freshness.
type SessionFreshness struct {
	// Mode bounded answers no older than maxStaleness, strong with every transaction that committed before the query began, eventual with
	// the newest snapshot there is.
	//
	// +kubebuilder:default=bounded
	// +optional
	Mode FreshnessMode `json:"mode,omitempty"`

	// MaxStaleness is the bound of mode bounded; the other modes ignore it.
	//
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1ms') && duration(self) <= duration('24h')",message="maxStaleness: give a duration between 1ms and 24h"
	// +optional
	MaxStaleness metav1.Duration `json:"maxStaleness,omitzero"`
}

// FreshnessMode is a mode of freshness.
//
// +kubebuilder:validation:Enum=bounded;strong;eventual
type FreshnessMode string

// TLSSpec is the endpoint's certificate.
type TLSSpec struct {
	// SecretRef names a Secret of type kubernetes.io/tls. Absent: the operator issues and renews a certificate of its own, and keeps its
	// authority's certificate in key ca.crt of the Secret <name>-ca. A changed certificate restarts the units one by one.
	//
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}
