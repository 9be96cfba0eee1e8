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

// TLSSpec is the endpoint's certificate. Absent: the operator issues and renews one of its own, and keeps its authority's certificate in key
// ca.crt of the Secret <name>-ca.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.secretRef) && has(self.certManager))",message="tls: give secretRef, or certManager, or neither for a certificate of the operator's own"
type TLSSpec struct {
	// SecretRef names a Secret of type kubernetes.io/tls. A changed certificate restarts the units one by one.
	//
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// CertManager has cert-manager, which must be installed, issue and renew the certificate, into the Secret <name>-endpoint-tls. A renewed one
	// restarts the units one by one.
	//
	// +optional
	CertManager *CertManagerSpec `json:"certManager,omitempty"`
}

// CertManagerSpec is a certificate by cert-manager, for the names of the endpoint's Service.
type CertManagerSpec struct {
	// IssuerRef names who signs. It must sign names inside of the Kubernetes cluster, which ACME's public authorities do not.
	//
	// +required
	IssuerRef IssuerReference `json:"issuerRef"`

	// DNSNames are further names by which clients reach the endpoint.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DNSNames []DNSName `json:"dnsNames,omitempty"`

	// Duration is how long the certificate is to be good for; cert-manager renews it when a third of that is left. Absent: 90 days.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="duration: give 1h at least"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// IssuerReference names an issuer of cert-manager's, or of another group that works with it.
//
// +kubebuilder:validation:XValidation:rule="self.group != 'cert-manager.io' || self.kind in ['Issuer', 'ClusterIssuer']",message="issuerRef: the kinds of group cert-manager.io are Issuer and ClusterIssuer; give another issuer's group as well"
type IssuerReference struct {
	// Name of the issuer. An Issuer must be in the HTAPCluster's namespace.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Kind of the issuer.
	//
	// +kubebuilder:default=Issuer
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Kind string `json:"kind,omitempty"`

	// Group of the issuer's kind.
	//
	// +kubebuilder:default=cert-manager.io
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`
}

// DNSName is a name of a host, or of all hosts of a domain (*.example.com).
//
// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
// +kubebuilder:validation:MaxLength=253
type DNSName string
