package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// cluster returns a manifest whose spec is the given lines.
func cluster(spec ...string) string {
	return "apiVersion: freshet.io/v1alpha1\nkind: HTAPCluster\nmetadata: {name: shop, namespace: default}\nspec:\n  " + strings.Join(spec, "\n  ") + "\n"
}

const (
	external    = "oltp: {engine: external, external: {connectionSecretRef: {name: shop-db}}}"
	builtin     = "oltp: {engine: postgresql, postgresql: {}}"
	cloudnative = "oltp: {engine: postgresql, postgresql: {provider: cloudnativepg}}"
	cockroach   = "oltp: {engine: cockroachdb, cockroachdb: {image: cockroach}}"
)

// cockroachOf is a CockroachDB of so many nodes.
func cockroachOf(nodes int) string {
	return cluster(fmt.Sprintf("oltp: {engine: cockroachdb, cockroachdb: {image: cockroach, replicas: %d}}", nodes), strimziWith("replicas: 1"))
}

// archived is a builtin database whose archive has the given fields.
func archived(fields string) string {
	return cluster("oltp: {engine: postgresql, postgresql: {archive: {" + fields + "}}}")
}

// recovered is a builtin database that is made of a claim, with what follows its name.
func recovered(claim string) string {
	return cluster("oltp: {engine: postgresql, postgresql: {recovery: {claimName: " + claim + "}}}")
}

// noSchedule is what is said of a schedule that is none.
func noSchedule(s string) string {
	return fmt.Sprintf("spec.oltp.postgresql.archive.schedule: Invalid value: %q: schedule: give five fields as cron has them, such as 0 2 * * *: "+
		"minute, hour, day of the month, month, day of the week", s)
}

// noPeers is what is said of workers that a NetworkPolicy cannot name.
const noPeers = "spec.cdc.kafka.connect.from: Invalid value: from: each peer is an ipBlock, or has a podSelector, a namespaceSelector, or both of these"

// kafkaTransport is the least that an external Kafka needs.
var kafkaTransport = kafkaWith("bootstrapServers: ['kafka:9092']", "url: 'http://connect:8083'")

// strimziWith is a Kafka of Strimzi's with the given fields.
func strimziWith(fields string) string {
	return "cdc: {transport: kafka, kafka: {provider: strimzi, strimzi: {" + fields + "}}}"
}

// kafkaWith is an external Kafka, and Kafka Connect, with the given fields.
func kafkaWith(external, connect string) string {
	return "cdc: {transport: kafka, kafka: {provider: external, external: {" + external + "}, connect: {" + connect + "}}}"
}

func TestHTAPCluster_refusesWhatCannotWork(t *testing.T) {
	def := loadCRD(t, "freshet.io_htapclusters.yaml")
	for _, c := range []struct {
		name, manifest string
		want           []string
	}{
		{"external database", cluster(external), nil},
		{"builtin database", cluster(builtin), nil},
		{"nodes of its own", cluster(builtin, "isolation: {mode: dedicated}"), nil},
		{"external that may share nodes", cluster(external, "isolation: {mode: shared}"), nil},
		{"external with nodes of its own", cluster(external, "isolation: {mode: dedicated}"), []string{
			`spec: Invalid value: isolation.mode dedicated: where an external database runs is not known; choose the units' nodes by columnar.nodePoolRef`}},
		{"unknown isolation", cluster(builtin, "isolation: {mode: numa}"),
			[]string{`spec.isolation.mode: Unsupported value: "numa": supported values: "shared", "dedicated"`}},
		{"no database", cluster("columnar: {units: 1}"), []string{`spec.oltp: Required value`}},
		{"unknown engine", cluster("oltp: {engine: oracle}"),
			[]string{`spec.oltp.engine: Unsupported value: "oracle": supported values: "external", "postgresql", "cockroachdb"`}},
		{"external without a connection", cluster("oltp: {engine: external}"),
			[]string{`spec.oltp: Invalid value: engine external: give external, and leave postgresql and cockroachdb out`}},
		{"external and builtin", cluster("oltp: {engine: external, external: {connectionSecretRef: {name: a}}, postgresql: {}}"),
			[]string{`spec.oltp: Invalid value: engine external: give external, and leave postgresql and cockroachdb out`}},
		{"builtin without its part", cluster("oltp: {engine: postgresql}"),
			[]string{`spec.oltp: Invalid value: engine postgresql: give postgresql ({} for its defaults), and leave external and cockroachdb out`}},
		{"empty Secret name", cluster("oltp: {engine: external, external: {connectionSecretRef: {name: ''}}}"),
			[]string{`spec.oltp.external.connectionSecretRef.name: Invalid value: "": spec.oltp.external.connectionSecretRef.name in body should be at least 1 chars long`}},
		{"Kafka", cluster(external, kafkaTransport), nil},
		{"Kafka with accounts", cluster(external, kafkaWith(
			"bootstrapServers: ['k-0:9093', 'k-1:9093'], tls: true, sasl: {mechanism: PLAIN, username: u}, secretRef: {name: k}",
			"url: 'https://connect:8443/', username: u, secretRef: {name: c}, from: [{podSelector: {}}]")), nil},
		{"workers of no kind", cluster(external, kafkaWith("bootstrapServers: ['k:1']", "url: 'http://c', from: [{}]")),
			[]string{noPeers}},
		{"workers of two kinds", cluster(external, kafkaWith("bootstrapServers: ['k:1']", "url: 'http://c', from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]")),
			[]string{noPeers}},
		{"workers by address", cluster(external, kafkaWith("bootstrapServers: ['k:1']", "url: 'http://c', from: [{ipBlock: {cidr: 10.0.0.0/8}}]")), nil},
		{"a volume of nothing", cluster(external, "columnar: {storage: {size: '0'}}"),
			[]string{`spec.columnar.storage.size: Invalid value: "0": size: give more than 0`}},
		{"a volume of less than nothing", cluster("oltp: {engine: postgresql, postgresql: {storage: {size: -5Gi}, archive: {storage: {size: 0}}}}"),
			[]string{`spec.oltp.postgresql.archive.storage.size: Invalid value: 0: size: give more than 0`, `spec.oltp.postgresql.storage.size: Invalid value: "-5Gi": size: give more than 0`}},
		{"a name that no Service can have", strings.Replace(cluster(external), "shop,", "1shop,", 1),
			[]string{`<nil>: Invalid value: metadata.name: begin with a letter, names of services are made of it`}},
		{"unknown transport", cluster(external, "cdc: {transport: pigeon}"),
			[]string{`spec.cdc.transport: Unsupported value: "pigeon": supported values: "direct", "kafka"`}},
		{"transport kafka without Kafka", cluster(external, "cdc: {transport: kafka}"),
			[]string{`spec.cdc: Invalid value: transport kafka: give kafka; transport direct: leave it out`}},
		{"Kafka for the direct transport", cluster(external, strings.Replace(kafkaTransport, "transport: kafka, ", "", 1)),
			[]string{`spec.cdc: Invalid value: transport kafka: give kafka; transport direct: leave it out`}},
		{"external Kafka without brokers", cluster(external, "cdc: {transport: kafka, kafka: {provider: external, connect: {url: 'http://c'}}}"),
			[]string{`spec.cdc.kafka: Invalid value: provider external: give external`}},
		{"external Kafka without Connect", cluster(external, "cdc: {transport: kafka, kafka: {provider: external, external: {bootstrapServers: ['k:9092']}}}"),
			[]string{`spec: Invalid value: cdc.kafka: a PostgreSQL needs connect, a CockroachDB has no use for it`}},
		{"Strimzi", cluster(external, strimziWith("connect: {image: kafka-debezium}")), nil},
		{"Strimzi and external", cluster(external, "cdc: {transport: kafka, kafka: {provider: external, strimzi: {connect: {image: i}}, external: {bootstrapServers: ['k:1']}, connect: {url: 'http://c'}}}"),
			[]string{`spec.cdc.kafka: Invalid value: provider strimzi: give strimzi, and leave external and connect out; provider external: leave strimzi out`}},
		{"Strimzi without its part", cluster(external, "cdc: {transport: kafka, kafka: {provider: strimzi}}"),
			[]string{`spec.cdc.kafka: Invalid value: provider strimzi: give strimzi, and leave external and connect out; provider external: leave strimzi out`}},
		{"Strimzi without Debezium", cluster(external, strimziWith("connect: {}")),
			[]string{`spec.cdc.kafka.strimzi.connect: Invalid value: connect: give image, or pluginImage`}},
		{"Strimzi with two Debeziums", cluster(external, strimziWith("connect: {image: i, pluginImage: p}")),
			[]string{`spec.cdc.kafka.strimzi.connect: Invalid value: connect: give image, or pluginImage`}},
		{"no node of Kafka", cluster(external, strimziWith("replicas: 0, connect: {image: i}")),
			[]string{`spec.cdc.kafka.strimzi.replicas: Invalid value: 0: spec.cdc.kafka.strimzi.replicas in body should be greater than or equal to 1`}},
		{"Strimzi without Connect", cluster(external, strimziWith("replicas: 1")),
			[]string{`spec: Invalid value: cdc.kafka: a PostgreSQL needs connect, a CockroachDB has no use for it`}},
		{"CockroachDB", cluster(cockroach, strimziWith("replicas: 1")), nil},
		{"CockroachDB without Kafka", cluster(cockroach),
			[]string{`spec: Invalid value: engine cockroachdb: its changes come by Kafka; use cdc.transport kafka`}},
		{"CockroachDB with Connect", cluster(cockroach, kafkaTransport),
			[]string{`spec: Invalid value: cdc.kafka: a PostgreSQL needs connect, a CockroachDB has no use for it`}},
		{"CockroachDB without its part", cluster("oltp: {engine: cockroachdb}", strimziWith("replicas: 1")),
			[]string{`spec.oltp: Invalid value: engine cockroachdb: give cockroachdb, and leave external and postgresql out`}},
		{"CockroachDB of two nodes", cluster("oltp: {engine: cockroachdb, cockroachdb: {image: i, replicas: 2}}", strimziWith("replicas: 1")),
			[]string{`spec.oltp.cockroachdb: Invalid value: replicas: use 1, or 3 and more: two nodes stand still when one is away`}},
		{"broker without a port", cluster(external, kafkaWith("bootstrapServers: [kafka]", "url: 'http://c'")),
			[]string{`spec.cdc.kafka.external.bootstrapServers[0]: Invalid value: "kafka": spec.cdc.kafka.external.bootstrapServers[0] in body should match '^[^:,\s]+:[0-9]{1,5}$'`}},
		{"account without a password", cluster(external, kafkaWith("bootstrapServers: ['k:1'], sasl: {username: u}", "url: 'http://c'")),
			[]string{`spec.cdc.kafka.external: Invalid value: sasl: give secretRef, the Secret with the password`}},
		{"password in clear text", cluster(external, kafkaWith("bootstrapServers: ['k:1'], sasl: {username: u, mechanism: PLAIN}, secretRef: {name: k}", "url: 'http://c'")),
			[]string{`spec.cdc.kafka.external: Invalid value: sasl mechanism PLAIN sends the password itself: set tls, or use SCRAM`}},
		{"Connect's password in clear text", cluster(external, kafkaWith("bootstrapServers: ['k:1']", "url: 'http://c', username: u, secretRef: {name: c}")),
			[]string{`spec.cdc.kafka.connect: Invalid value: username: give secretRef, the Secret with the password, and an https url`}},
		{"user in Connect's address", cluster(external, kafkaWith("bootstrapServers: ['k:1']", "url: 'https://u:p@c'")),
			[]string{`spec.cdc.kafka.connect.url: Invalid value: "https://u:p@c": spec.cdc.kafka.connect.url in body should match '^https?://[^/@\s]+(/[^@\s]*)?$'`}},
		{"CloudNativePG", cluster("oltp: {engine: postgresql, postgresql: {provider: cloudnativepg, instances: 2, memberOf: [sales], image: 'pg:18', parameters: {work_mem: 64MB}}}"), nil},
		{"unknown provider of PostgreSQL", cluster("oltp: {engine: postgresql, postgresql: {provider: patroni}}"),
			[]string{`spec.oltp.postgresql.provider: Unsupported value: "patroni": supported values: "builtin", "cloudnativepg"`}},
		{"instances of the builtin primary", cluster("oltp: {engine: postgresql, postgresql: {instances: 3}}"),
			[]string{`spec.oltp.postgresql: Invalid value: provider builtin runs a single primary: leave instances out, or create an HTAPCluster with provider cloudnativepg`}},
		{"no instance", cluster("oltp: {engine: postgresql, postgresql: {provider: cloudnativepg, instances: 0}}"),
			[]string{`spec.oltp.postgresql.instances: Invalid value: 0: spec.oltp.postgresql.instances in body should be greater than or equal to 1`}},
		{"memberships of a superuser", cluster("oltp: {engine: postgresql, postgresql: {memberOf: [sales]}}"),
			[]string{`spec.oltp.postgresql: Invalid value: provider builtin: leave memberOf out, and grant the owners of tables to freshet_units by SQL`}},
		{"slots that standbys lack", cluster("oltp: {engine: postgresql, postgresql: {provider: cloudnativepg, parameters: {sync_replication_slots: 'off'}}}"),
			[]string{`spec.oltp.postgresql: Invalid value: provider cloudnativepg: sync_replication_slots and hot_standby_feedback are set by the operator, so that the units' slots outlive a failover`}},
		{"standbys that tell nothing, by the builtin primary", cluster("oltp: {engine: postgresql, postgresql: {parameters: {hot_standby_feedback: 'off'}}}"), nil},
		{"parameter of the operator's", cluster("oltp: {engine: postgresql, postgresql: {parameters: {wal_level: minimal}}}"),
			[]string{`spec.oltp.postgresql.parameters: Invalid value: wal_level, max_wal_senders, max_replication_slots, listen_addresses, port, hba_file, data_directory, unix_socket_directories, ssl, ssl_cert_file and ssl_key_file are set by the operator`}},
		{"a server without encryption", cluster("oltp: {engine: postgresql, postgresql: {parameters: {ssl: 'off'}}}"),
			[]string{`spec.oltp.postgresql.parameters: Invalid value: wal_level, max_wal_senders, max_replication_slots, listen_addresses, port, hba_file, data_directory, unix_socket_directories, ssl, ssl_cert_file and ssl_key_file are set by the operator`}},
		{"archive", archived("schedule: '*/15 0-6,12 1,31 * 1-5', keep: 100, storage: {size: 1Ti}"), nil},
		{"archive by CloudNativePG", cluster("oltp: {engine: postgresql, postgresql: {provider: cloudnativepg, archive: {}}}"),
			[]string{`spec.oltp.postgresql: Invalid value: provider cloudnativepg: leave archive and recovery out, and use CloudNativePG's own backups`}},
		{"recovery by CloudNativePG", cluster("oltp: {engine: postgresql, postgresql: {provider: cloudnativepg, recovery: {claimName: c}}}"),
			[]string{`spec.oltp.postgresql: Invalid value: provider cloudnativepg: leave archive and recovery out, and use CloudNativePG's own backups`}},
		{"no base backup", archived("keep: 0"),
			[]string{`spec.oltp.postgresql.archive.keep: Invalid value: 0: spec.oltp.postgresql.archive.keep in body should be greater than or equal to 1`}},
		{"too many base backups", archived("keep: 101"),
			[]string{`spec.oltp.postgresql.archive.keep: Invalid value: 101: spec.oltp.postgresql.archive.keep in body should be less than or equal to 100`}},
		{"schedule of four fields", archived("schedule: '0 2 * *'"), []string{noSchedule("0 2 * *")}},
		{"schedule at an hour that is none", archived("schedule: '0 24 * * *'"), []string{noSchedule("0 24 * * *")}},
		{"schedule that says nothing", archived("schedule: nightly"), []string{noSchedule("nightly")}},
		{"archive and a command of one's own", cluster("oltp: {engine: postgresql, postgresql: {archive: {}, parameters: {archive_command: 'true'}}}"),
			[]string{`spec.oltp.postgresql: Invalid value: archive: archive_mode, archive_command and archive_library are set by the operator; take them out of parameters`}},
		{"a command of one's own", cluster("oltp: {engine: postgresql, postgresql: {parameters: {archive_mode: 'on', archive_command: 'true'}}}"), nil},
		{"recovery", recovered("old-oltp-archive, targetTime: '2026-11-20T08:00:00.25+01:00'"), nil},
		{"recovery of nothing", cluster("oltp: {engine: postgresql, postgresql: {recovery: {}}}"), []string{`spec.oltp.postgresql.recovery.claimName: Required value`}},
		{"recovery of what it archives to", recovered("shop-oltp-archive"),
			[]string{`<nil>: Invalid value: recovery.claimName: it is this cluster's own archive; give the HTAPCluster another name`}},
		{"recovery to no time", recovered("c, targetTime: yesterday"),
			[]string{`spec.oltp.postgresql.recovery.targetTime: Invalid value: "yesterday": spec.oltp.postgresql.recovery.targetTime in body must be of type date-time: "yesterday"`}},
		{"parameter that is none", cluster("oltp: {engine: postgresql, postgresql: {parameters: {'work_mem;': '1'}}}"),
			[]string{`spec.oltp.postgresql.parameters: Invalid value: names of parameters: use lower case letters, digits, _ and .`}},
		{"too many units", cluster(external, "columnar: {units: 33}"),
			[]string{`spec.columnar.units: Invalid value: 33: spec.columnar.units in body should be less than or equal to 32`}},
		{"table without a schema", cluster(external, "columnar: {tables: {include: [orders]}}"),
			[]string{`spec.columnar.tables.include[0]: Invalid value: "orders": spec.columnar.tables.include[0] in body should match '^[^.,\s]+\.[^.,\s]+$'`}},
		{"hardly any CPU", cluster(external, "columnar: {resources: {cpu: 1m, memory: 1Gi}}"),
			[]string{`spec.columnar.resources.cpu: Invalid value: "1m": cpu: give 10m at least`}},
		{"hardly any memory", cluster(external, "gateway: {resources: {cpu: 1, memory: 1Mi}}"),
			[]string{`spec.gateway.resources.memory: Invalid value: "1Mi": memory: give 64Mi at least`}},
		{"impossible objective", cluster(external, "gateway: {freshness: {objective: 1ms}}"),
			[]string{`spec.gateway.freshness.objective: Invalid value: "1ms": objective: give a duration between 100ms and 1h`}},
		{"impossible bound", cluster(external, "gateway: {freshness: {default: {maxStaleness: 0s}}}"),
			[]string{`spec.gateway.freshness.default.maxStaleness: Invalid value: "0s": maxStaleness: give a duration between 1ms and 24h`}},
		{"unknown mode", cluster(external, "gateway: {freshness: {default: {mode: linearizable}}}"),
			[]string{`spec.gateway.freshness.default.mode: Unsupported value: "linearizable": supported values: "bounded", "strong", "eventual"`}},
		{"certificate by cert-manager", cluster(external, "gateway: {tls: {certManager: {issuerRef: {name: ca, kind: ClusterIssuer}, dnsNames: ['*.shop.example.com', db], duration: 2160h}}}"), nil},
		{"certificate by an issuer of another group", cluster(external, "gateway: {tls: {certManager: {issuerRef: {name: ca, kind: AWSPCAIssuer, group: awspca.cert-manager.io}}}}"), nil},
		{"two certificates", cluster(external, "gateway: {tls: {secretRef: {name: s}, certManager: {issuerRef: {name: ca}}}}"),
			[]string{`spec.gateway.tls: Invalid value: tls: give secretRef, or certManager, or neither for a certificate of the operator's own`}},
		{"certificate by nobody", cluster(external, "gateway: {tls: {certManager: {}}}"), []string{`spec.gateway.tls.certManager.issuerRef: Required value`}},
		{"kind of issuer that cert-manager lacks", cluster(external, "gateway: {tls: {certManager: {issuerRef: {name: ca, kind: AWSPCAIssuer}}}}"),
			[]string{`spec.gateway.tls.certManager.issuerRef: Invalid value: issuerRef: the kinds of group cert-manager.io are Issuer and ClusterIssuer; give another issuer's group as well`}},
		{"certificate for a moment", cluster(external, "gateway: {tls: {certManager: {issuerRef: {name: ca}, duration: 10m}}}"),
			[]string{`spec.gateway.tls.certManager.duration: Invalid value: "10m": duration: give 1h at least`}},
		{"certificate for a name that is none", cluster(external, "gateway: {tls: {certManager: {issuerRef: {name: ca}, dnsNames: ['shop:5432']}}}"),
			[]string{`spec.gateway.tls.certManager.dnsNames[0]: Invalid value: "shop:5432": spec.gateway.tls.certManager.dnsNames[0] in body should match '^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`}},
		{"long name", strings.Replace(cluster(external), "shop", strings.Repeat("s", 41), 1),
			[]string{`<nil>: Invalid value: metadata.name: use at most 40 characters, names of pods are made of it`}},
		{"name with dots", strings.Replace(cluster(external), "shop,", "shop.eu,", 1),
			[]string{`<nil>: Invalid value: metadata.name: use no dots, names of services are made of it`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, def.validate(t, def.object(t, c.manifest), nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is said of volumes.
const (
	shrinks      = "a volume cannot shrink: give the size that it has or a bigger one, or create another HTAPCluster and move the data"
	staysInClass = "storageClassName cannot be changed: a volume stays in its class; create another HTAPCluster and move the data"
)

func TestHTAPCluster_refusesChangesThatCannotBeMade(t *testing.T) {
	def := loadCRD(t, "freshet.io_htapclusters.yaml")
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"units", cluster(external), cluster(external, "columnar: {units: 3}"), nil},
		{"engine", cluster(external), cluster(builtin),
			[]string{`spec.oltp.engine: Invalid value: "postgresql": the engine cannot be changed: create another HTAPCluster and move the data`}},
		{"brokers and Connect", cluster(external, kafkaTransport), cluster(external, kafkaWith("bootstrapServers: ['k-1:9092']", "url: 'http://other:8083'")), nil},
		{"transport", cluster(external), cluster(external, kafkaTransport),
			[]string{`spec.cdc.transport: Invalid value: "kafka": the transport cannot be changed: every unit would have to be copied anew; create another HTAPCluster`}},
		{"provider", cluster(external, kafkaTransport), cluster(external, strimziWith("connect: {image: i}")),
			[]string{`spec.cdc.kafka.provider: Invalid value: "strimzi": the provider cannot be changed: every unit would have to be copied anew; create another HTAPCluster`}},
		{"bigger volumes of Kafka", cluster(external, strimziWith("connect: {image: i}")), cluster(external, strimziWith("storage: {size: 30Gi}, connect: {image: i}")), nil},
		{"smaller volumes of Kafka", cluster(external, strimziWith("connect: {image: i}")), cluster(external, strimziWith("storage: {size: 10Gi}, connect: {image: i}")),
			[]string{`spec.cdc.kafka.strimzi.storage: Invalid value: ` + shrinks}},
		{"fewer nodes", cockroachOf(5), cockroachOf(3), nil},
		{"more nodes", cockroachOf(1), cockroachOf(3), nil},
		{"one node of three", cockroachOf(3), cockroachOf(1),
			[]string{`spec.oltp.cockroachdb: Invalid value: replicas cannot be reduced below 3: rows are on three nodes`}},
		{"bigger volumes of units", cluster(external), cluster(external, "columnar: {storage: {size: 30Gi}}"), nil},
		{"equal volumes of units", cluster(external), cluster(external, "columnar: {storage: {size: 20480Mi}}"), nil},
		{"slightly smaller volumes of units", cluster(external), cluster(external, "columnar: {storage: {size: 20479Mi}}"),
			[]string{`spec.columnar.storage: Invalid value: ` + shrinks}},
		{"volumes without a unit", cluster(external), cluster(external, "columnar: {storage: {size: 21474836479}}"),
			[]string{`spec.columnar.storage: Invalid value: ` + shrinks}},
		{"a class for volumes of units", cluster(external), cluster(external, "columnar: {storage: {storageClassName: fast}}"),
			[]string{`spec.columnar.storage: Invalid value: ` + staysInClass}},
		{"bigger volume of the database", cluster(builtin), cluster("oltp: {engine: postgresql, postgresql: {storage: {size: 1Ti}}}"), nil},
		{"smaller volume of the database", cluster("oltp: {engine: postgresql, postgresql: {storage: {size: 1Ti}}}"), cluster(builtin),
			[]string{`spec.oltp.postgresql.storage: Invalid value: ` + shrinks}},
		{"bigger volume of another class", cluster("oltp: {engine: postgresql, postgresql: {storage: {storageClassName: slow}}}"),
			cluster("oltp: {engine: postgresql, postgresql: {storage: {size: 30Gi, storageClassName: fast}}}"),
			[]string{`spec.oltp.postgresql.storage: Invalid value: ` + staysInClass}},
		{"no class any more", cluster("oltp: {engine: postgresql, postgresql: {storage: {storageClassName: slow}}}"), cluster(builtin),
			[]string{`spec.oltp.postgresql.storage: Invalid value: ` + staysInClass}},
		{"smaller volumes by CloudNativePG", cluster(cloudnative), cluster("oltp: {engine: postgresql, postgresql: {provider: cloudnativepg, storage: {size: 1Gi}}}"),
			[]string{`spec.oltp.postgresql.storage: Invalid value: ` + shrinks}},
		{"bigger volumes of nodes", cockroachOf(3), cluster("oltp: {engine: cockroachdb, cockroachdb: {image: cockroach, storage: {size: 30Gi}}}", strimziWith("replicas: 1")), nil},
		{"smaller volumes of nodes", cockroachOf(3), cluster("oltp: {engine: cockroachdb, cockroachdb: {image: cockroach, storage: {size: 10Gi}}}", strimziWith("replicas: 1")),
			[]string{`spec.oltp.cockroachdb.storage: Invalid value: ` + shrinks}},
		{"provider of PostgreSQL", cluster(builtin), cluster(cloudnative),
			[]string{`spec.oltp.postgresql.provider: Invalid value: "cloudnativepg": the provider cannot be changed: create another HTAPCluster and move the data`}},
		{"instances", cluster(cloudnative), cluster("oltp: {engine: postgresql, postgresql: {provider: cloudnativepg, instances: 5}}"), nil},
		{"archive", cluster(builtin), archived("keep: 3"), nil},
		{"no archive any more", archived("keep: 3"), cluster(builtin), nil},
		{"larger archive", archived("keep: 3"), archived("storage: {size: 0.5Ti}"), nil},
		{"class of the archive", archived("storage: {storageClassName: slow}"), archived("storage: {storageClassName: fast}"),
			[]string{`spec.oltp.postgresql.archive.storage: Invalid value: storageClassName of an archive cannot be changed: take the archive out, move or delete its claim, and add it again`}},
		{"recovery of an old database", cluster(builtin), recovered("c"),
			[]string{`spec.oltp.postgresql: Invalid value: recovery is for a new database: create another HTAPCluster with it`}},
		{"no recovery any more", recovered("c"), cluster(builtin),
			[]string{`spec.oltp.postgresql: Invalid value: recovery is for a new database: create another HTAPCluster with it`}},
		{"another recovery", recovered("c"), recovered("d"),
			[]string{`spec.oltp.postgresql.recovery: Invalid value: recovery is for a new database: create another HTAPCluster with it`}},
		{"name of the database", cluster(builtin), cluster("oltp: {engine: postgresql, postgresql: {database: other}}"),
			[]string{`spec.oltp.postgresql.database: Invalid value: "other": the database cannot be renamed: it is created with the volume`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, def.validate(t, def.object(t, c.after), def.object(t, c.before))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHTAPCluster_defaultsEveryFieldThatHasOne(t *testing.T) {
	def := loadCRD(t, "freshet.io_htapclusters.yaml")
	var got, want v1alpha1.HTAPCluster
	explicit := cluster(
		`oltp: {engine: postgresql, postgresql: {provider: builtin, database: app, storage: {size: 20Gi}, resources: {cpu: "2", memory: 4Gi},
    archive: {storage: {size: 100Gi}, schedule: "0 2 * * *", keep: 7}}}`,
		`cdc: {transport: direct}`,
		`columnar: {units: 1, tables: {include: [public.*]}, storage: {size: 20Gi}, resources: {cpu: "2", memory: 4Gi}}`,
		`gateway: {freshness: {objective: 5s, default: {mode: bounded, maxStaleness: 1s}}, tls: {}, resources: {cpu: "1", memory: 1Gi}}`,
		`deletionPolicy: Retain`)
	for manifest, into := range map[string]*v1alpha1.HTAPCluster{archived(""): &got, explicit: &want} {
		o := def.object(t, manifest)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}
