package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// CDCSpec is the way that changes take.
//
// +kubebuilder:validation:XValidation:rule="(has(self.transport) && self.transport == 'kafka') == has(self.kafka)",message="transport kafka: give kafka; transport direct: leave it out"
type CDCSpec struct {
	// Transport direct reads the database's own logical replication in each unit. kafka lets Debezium write the changes into topics: each unit
	// has a connector, a replication slot and topics of its own, all named alike.
	//
	// +kubebuilder:default=direct
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the transport cannot be changed: every unit would have to be copied anew; create another HTAPCluster"
	// +optional
	Transport Transport `json:"transport,omitempty"`

	// Kafka is needed for transport kafka, and only there.
	//
	// +optional
	Kafka *KafkaSpec `json:"kafka,omitempty"`
}

// Transport is a way that changes take.
//
// +kubebuilder:validation:Enum=direct;kafka
type Transport string

// The transports.
const (
	// TransportDirect is logical replication, without anything in between.
	TransportDirect Transport = "direct"
	// TransportKafka is Debezium in Kafka Connect, and Kafka.
	TransportKafka Transport = "kafka"
)

// KafkaSpec is a Kafka and a Kafka Connect.
//
// +kubebuilder:validation:XValidation:rule="self.provider == 'external' ? has(self.external) : true",message="provider external: give external"
// +kubebuilder:validation:XValidation:rule="self.provider == 'external' ? !has(self.strimzi) : has(self.strimzi) && !has(self.external) && !has(self.connect)",message="provider strimzi: give strimzi, and leave external and connect out; provider external: leave strimzi out"
type KafkaSpec struct {
	// Provider external is a Kafka and a Kafka Connect that exist already; strimzi is both by Strimzi's operator, 1.0 or later, which must be
	// installed and watch the HTAPCluster's namespace.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the provider cannot be changed: every unit would have to be copied anew; create another HTAPCluster"
	// +required
	Provider KafkaProvider `json:"provider"`

	// External is the Kafka of provider external.
	//
	// +optional
	External *ExternalKafkaSpec `json:"external,omitempty"`

	// Connect is the Kafka Connect of provider external; a CockroachDB has no use for one. It must have Debezium's connector for PostgreSQL 3.7 or later, allow
	// connectors to override their producer's settings (connector.client.config.override.policy=All), and reach the database by the address in
	// the connection Secret.
	//
	// +optional
	Connect *ConnectSpec `json:"connect,omitempty"`

	// Strimzi is the Kafka and the Kafka Connect of provider strimzi.
	//
	// +optional
	Strimzi *StrimziSpec `json:"strimzi,omitempty"`
}

// KafkaProvider is who runs Kafka.
//
// +kubebuilder:validation:Enum=external;strimzi
type KafkaProvider string

// The providers.
const (
	// KafkaExternal means that Kafka and Kafka Connect exist already.
	KafkaExternal KafkaProvider = "external"
	// KafkaStrimzi means that Strimzi's operator runs them.
	KafkaStrimzi KafkaProvider = "strimzi"
)

// ExternalKafkaSpec is a Kafka that exists already. A change restarts the units one by one.
//
// +kubebuilder:validation:XValidation:rule="has(self.sasl) ? has(self.secretRef) : true",message="sasl: give secretRef, the Secret with the password"
// +kubebuilder:validation:XValidation:rule="has(self.sasl) && self.sasl.mechanism == 'PLAIN' ? has(self.tls) && self.tls : true",message="sasl mechanism PLAIN sends the password itself: set tls, or use SCRAM"
type ExternalKafkaSpec struct {
	// BootstrapServers are addresses of brokers, host:port. They may be changed, the cluster behind them must stay.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +required
	BootstrapServers []BootstrapServer `json:"bootstrapServers"`

	// TLS encrypts the connections to brokers. Their certificates are verified by ca.crt of the Secret, or by the gateway image's
	// authorities if it has none. Absent or false: connections are not encrypted.
	//
	// +optional
	TLS bool `json:"tls,omitempty"`

	// SASL says who the units are. Absent: they do not say.
	//
	// +optional
	SASL *SASLSpec `json:"sasl,omitempty"`

	// SecretRef names a Secret with key password for sasl, and for tls with ca.crt, or with tls.crt and tls.key for a client certificate; each
	// where it is needed. Changed contents take effect at the next connection, without a restart.
	//
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// BootstrapServer is a broker's host:port.
//
// +kubebuilder:validation:Pattern=`^[^:,\s]+:[0-9]{1,5}$`
// +kubebuilder:validation:MaxLength=259
type BootstrapServer string

// SASLSpec is an account of Kafka's. It must be allowed to create, describe, configure, read and delete topics that begin with freshet_.
type SASLSpec struct {
	// Mechanism by which the account proves itself. PLAIN needs tls.
	//
	// +kubebuilder:default=SCRAM-SHA-512
	// +optional
	Mechanism SASLMechanism `json:"mechanism,omitempty"`

	// Username of the account.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Username string `json:"username"`
}

// SASLMechanism is a SASL mechanism, by the name that Kafka gives it.
//
// +kubebuilder:validation:Enum=SCRAM-SHA-512;SCRAM-SHA-256;PLAIN
type SASLMechanism string

// ConnectSpec is a Kafka Connect that exists already.
//
// +kubebuilder:validation:XValidation:rule="has(self.username) ? has(self.secretRef) && self.url.startsWith('https://') : true",message="username: give secretRef, the Secret with the password, and an https url"
type ConnectSpec struct {
	// URL of its REST interface, http or https, without a user. It may be changed, the workers behind it must be of the same group: they have the
	// connectors. A change restarts the units one by one.
	//
	// +kubebuilder:validation:Pattern=`^https?://[^/@\s]+(/[^@\s]*)?$`
	// +kubebuilder:validation:MaxLength=512
	// +required
	URL string `json:"url"`

	// Username for basic authentication. Absent: none.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Username string `json:"username,omitempty"`

	// SecretRef names a Secret with key password for username, and for an https url with ca.crt that its certificate is verified by, or with
	// tls.crt and tls.key for a client certificate; each where it is needed. Changed contents take effect at the next connection.
	//
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// From says where the workers are, for the builtin database's NetworkPolicy: they read it. Absent: pods of the HTAPCluster's namespace. An
	// external database takes no notice.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(p, has(p.ipBlock) ? !has(p.podSelector) && !has(p.namespaceSelector) : has(p.podSelector) || has(p.namespaceSelector))",message="from: each peer is an ipBlock, or has a podSelector, a namespaceSelector, or both of these"
	// +listType=atomic
	// +optional
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`
}
