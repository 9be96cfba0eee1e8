package v1alpha1

// StrimziSpec is a Kafka and a Kafka Connect that Strimzi's operator runs. They hold copies, and are deleted with the HTAPCluster.
type StrimziSpec struct {
	// Replicas is the number of Kafka's nodes, each a broker and a controller. Topics have a replica on up to three of them. With one
	// node changes wait in the database while it restarts.
	//
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Storage is the volume of each node. Topics keep 24 hours of changes. Its size may grow: Strimzi sees to it.
	//
	// +kubebuilder:default={}
	// +optional
	Storage DataStorageSpec `json:"storage,omitzero"`

	// Resources of each node.
	//
	// +kubebuilder:default={cpu: "1", memory: "2Gi"}
	// +optional
	Resources ResourcesSpec `json:"resources,omitzero"`

	// Connect is Kafka Connect, which a PostgreSQL needs and a CockroachDB has no use for.
	//
	// +optional
	Connect *StrimziConnectSpec `json:"connect,omitempty"`
}

// StrimziConnectSpec is a Kafka Connect that Strimzi's operator runs.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.pluginImage)",message="connect: give image, or pluginImage"
type StrimziConnectSpec struct {
	// Image is Strimzi's Kafka image with Debezium's connector for PostgreSQL 3.7 or later added.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Image string `json:"image,omitempty"`

	// PluginImage is an image, or an OCI artifact, with the connector's jars. It is mounted into Strimzi's own image, for which Kubernetes must
	// support image volumes.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	PluginImage string `json:"pluginImage,omitempty"`

	// Replicas is the number of workers, over which the units' connectors are spread.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Resources of each worker.
	//
	// +kubebuilder:default={cpu: "1", memory: "2Gi"}
	// +optional
	Resources ResourcesSpec `json:"resources,omitzero"`
}
