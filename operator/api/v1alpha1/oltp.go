package v1alpha1

// OLTPSpec is the transactional database.
//
// +kubebuilder:validation:XValidation:rule="self.engine == 'external' ? has(self.external) && !has(self.postgresql) && !has(self.cockroachdb) : true",message="engine external: give external, and leave postgresql and cockroachdb out"
// +kubebuilder:validation:XValidation:rule="self.engine == 'postgresql' ? has(self.postgresql) && !has(self.external) && !has(self.cockroachdb) : true",message="engine postgresql: give postgresql ({} for its defaults), and leave external and cockroachdb out"
// +kubebuilder:validation:XValidation:rule="self.engine == 'cockroachdb' ? has(self.cockroachdb) && !has(self.external) && !has(self.postgresql) : true",message="engine cockroachdb: give cockroachdb, and leave external and postgresql out"
type OLTPSpec struct {
	// Engine external is a PostgreSQL 14 or later that exists already; postgresql is one that the operator runs, by itself or by
	// CloudNativePG; cockroachdb is a CockroachDB that it runs, and needs cdc.transport kafka.
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
//
// +kubebuilder:validation:XValidation:rule="self.provider == 'cloudnativepg' || !has(self.instances)",message="provider builtin runs a single primary: leave instances out, or create an HTAPCluster with provider cloudnativepg"
// +kubebuilder:validation:XValidation:rule="self.provider == 'cloudnativepg' || !has(self.memberOf)",message="provider builtin: leave memberOf out, and grant the owners of tables to freshet_units by SQL"
// +kubebuilder:validation:XValidation:rule="self.provider == 'builtin' || !has(self.parameters) || !self.parameters.exists(k, k in ['sync_replication_slots', 'hot_standby_feedback'])",message="provider cloudnativepg: sync_replication_slots and hot_standby_feedback are set by the operator, so that the units' slots outlive a failover"
// +kubebuilder:validation:XValidation:rule="self.provider == 'builtin' || !has(self.archive) && !has(self.recovery)",message="provider cloudnativepg: leave archive and recovery out, and use CloudNativePG's own backups"
// +kubebuilder:validation:XValidation:rule="has(self.recovery) == has(oldSelf.recovery)",message="recovery is for a new database: create another HTAPCluster with it"
// +kubebuilder:validation:XValidation:rule="!has(self.archive) || !has(self.parameters) || !self.parameters.exists(k, k in ['archive_mode', 'archive_command', 'archive_library'])",message="archive: archive_mode, archive_command and archive_library are set by the operator; take them out of parameters"
type PostgreSQLSpec struct {
	// Provider builtin is a single primary on one volume, run by the operator itself. cloudnativepg is a Cluster of CloudNativePG's operator,
	// 1.27 or later, which must be installed and watch the HTAPCluster's namespace.
	//
	// +kubebuilder:default=builtin
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the provider cannot be changed: create another HTAPCluster and move the data"
	// +optional
	Provider PostgreSQLProvider `json:"provider,omitempty"`

	// Instances is the number of servers of provider cloudnativepg: a primary, and standbys that take over when it fails. Absent: 3. With
	// one the database is away while its pod is replaced.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Instances int32 `json:"instances,omitempty"`

	// MemberOf are the roles that own replicated tables, beside the role in the connection Secret: of provider cloudnativepg that role is no
	// superuser, and only an owner's member may publish a table. They must exist.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	MemberOf []RoleName `json:"memberOf,omitempty"`

	// Image has PostgreSQL's official image's programs and entrypoint. Empty: what the operator was started with. The major version of an
	// existing volume must stay. Of provider cloudnativepg it is an operand image with PostgreSQL 17 or later, and empty what that has by default.
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
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['wal_level', 'max_wal_senders', 'max_replication_slots', 'listen_addresses', 'port', 'hba_file', 'data_directory', 'unix_socket_directories', 'ssl', 'ssl_cert_file', 'ssl_key_file'])",message="wal_level, max_wal_senders, max_replication_slots, listen_addresses, port, hba_file, data_directory, unix_socket_directories, ssl, ssl_cert_file and ssl_key_file are set by the operator"
	// +optional
	Parameters map[string]ParameterValue `json:"parameters,omitempty"`

	// Storage is the volume of each server's data. Its size may grow while the servers run; CloudNativePG sees to its own.
	//
	// +kubebuilder:default={}
	// +optional
	Storage DataStorageSpec `json:"storage,omitzero"`

	// Archive of provider builtin keeps what is needed to recover the database as it was at a time. It needs an image with PostgreSQL 16 or later.
	// Absent: there is none. To add one to a database that exists, or to take it away, restarts that once; its claim is kept.
	//
	// +optional
	Archive *ArchiveSpec `json:"archive,omitempty"`

	// Recovery of provider builtin makes a new database of another's archive, before the server first starts. Its name, its roles and PostgreSQL's
	// major version must be the old one's; the operator's roles get new passwords. Absent: a new database is empty.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="recovery is for a new database: create another HTAPCluster with it"
	// +optional
	Recovery *RecoverySpec `json:"recovery,omitempty"`

	// Resources of each server. Its shared_buffers are a quarter of the memory, or seven eighths of the node pool's huge pages, unless parameters
	// say otherwise.
	//
	// +kubebuilder:default={cpu: "2", memory: "4Gi"}
	// +optional
	Resources ResourcesSpec `json:"resources,omitzero"`

	// NodePoolRef names the nodes that the servers run on; without it, any.
	//
	// +optional
	NodePoolRef *NodePoolReference `json:"nodePoolRef,omitempty"`
}

// PostgreSQLProvider is who runs PostgreSQL.
//
// +kubebuilder:validation:Enum=builtin;cloudnativepg
type PostgreSQLProvider string

// The providers.
const (
	// PostgreSQLBuiltin is a StatefulSet of the operator's.
	PostgreSQLBuiltin PostgreSQLProvider = "builtin"
	// CloudNativePG means that its operator runs a Cluster.
	CloudNativePG PostgreSQLProvider = "cloudnativepg"
)

// ParameterValue is the value of a PostgreSQL setting.
//
// +kubebuilder:validation:MaxLength=1024
type ParameterValue string
