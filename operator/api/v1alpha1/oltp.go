package v1alpha1

// OLTPSpec is the transactional database.
//
// +kubebuilder:validation:XValidation:rule="self.engine == 'external' ? has(self.external) && !has(self.postgresql) && !has(self.cockroachdb) : true",message="engine external: give external, and leave postgresql and cockroachdb out"
// +kubebuilder:validation:XValidation:rule="self.engine == 'postgresql' ? has(self.postgresql) && !has(self.external) && !has(self.cockroachdb) : true",message="engine postgresql: give postgresql ({} for its defaults), and leave external and cockroachdb out"
// +kubebuilder:validation:XValidation:rule="self.engine == 'cockroachdb' ? has(self.cockroachdb) && !has(self.external) && !has(self.postgresql) : true",message="engine cockroachdb: give cockroachdb, and leave external and postgresql out"
type OLTPSpec struct {
	// Engine external is a PostgreSQL 14 or later that exists already; postgresql is one that the operator runs, a single primary on one
	// volume; cockroachdb is a CockroachDB that it runs, and needs cdc.transport kafka.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the engine cannot be changed: create another HTAPCluster and move the data"
	// +required
	Engine Engine `json:"engine"`

	// External is needed for engine external, and only there.
	//
	// +optional
	External *ExternalSpec `json:"external,omitempty"`

	// PostgreSQL is needed for engine postgresql, and only there.
	//
	// +optional
	PostgreSQL *PostgreSQLSpec `json:"postgresql,omitempty"`

	// CockroachDB is needed for engine cockroachdb, and only there.
	//
	// +optional
	CockroachDB *CockroachDBSpec `json:"cockroachdb,omitempty"`
}

// Engine is a kind of transactional database.
//
// +kubebuilder:validation:Enum=external;postgresql;cockroachdb
type Engine string

// The engines.
const (
	EngineExternal    Engine = "external"
	EnginePostgreSQL  Engine = "postgresql"
	EngineCockroachDB Engine = "cockroachdb"
)

// ExternalSpec is a database that exists already.
type ExternalSpec struct {
	// ConnectionSecretRef names a Secret whose key uri holds a connection string (postgresql://user:password@host:port/database).
	// Its role must have REPLICATION, CREATE on the database, and be a member of the tables' owners. Key ca.crt, where it is there, holds
	// the certificates that the server's is verified by, as PEM. A changed Secret restarts the units one by one.
	//
	// +required
	ConnectionSecretRef SecretReference `json:"connectionSecretRef"`
}

// PostgreSQLSpec is a PostgreSQL that the operator runs.
type PostgreSQLSpec struct {
	// Image has PostgreSQL's official image's programs and entrypoint. Empty: what the operator was started with. The major version of an
	// existing volume must stay.
	//
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Image string `json:"image,omitempty"`

	// Database is created with the volume, and is the one that is replicated. The role of applications owns it.
	//
	// +kubebuilder:default=app
	// +kubebuilder:validation:Pattern=`^[a-z_][a-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the database cannot be renamed: it is created with the volume"
	// +optional
	Database string `json:"database,omitempty"`

	// Parameters are settings of the server, as in postgresql.conf. A change restarts it.
	//
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z_][a-z0-9_.]*$') && size(k) <= 63)",message="names of parameters: use lower case letters, digits, _ and ."
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['wal_level', 'max_wal_senders', 'max_replication_slots', 'listen_addresses', 'port', 'hba_file', 'data_directory', 'unix_socket_directories'])",message="wal_level, max_wal_senders, max_replication_slots, listen_addresses, port, hba_file, data_directory and unix_socket_directories are set by the operator"
	// +optional
	Parameters map[string]ParameterValue `json:"parameters,omitempty"`

	// Storage is the volume of the data.
	//
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storage cannot be changed after creation"
	// +optional
	Storage StorageSpec `json:"storage,omitzero"`

	// Resources of the server. Its shared_buffers are a quarter of the memory, or seven eighths of the node pool's huge pages, unless parameters
	// say otherwise.
	//
	// +kubebuilder:default={cpu: "2", memory: "4Gi"}
	// +optional
	Resources ResourcesSpec `json:"resources,omitzero"`

	// NodePoolRef names the nodes that the server runs on; without it, any.
	//
	// +optional
	NodePoolRef *NodePoolReference `json:"nodePoolRef,omitempty"`
}

// ParameterValue is the value of a PostgreSQL setting.
//
// +kubebuilder:validation:MaxLength=1024
type ParameterValue string
