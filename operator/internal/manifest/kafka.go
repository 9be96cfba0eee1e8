package manifest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Where units find the files of their access to Kafka and to Kafka Connect.
const (
	kafkaDir   = "/etc/freshet/kafka"
	connectDir = "/etc/freshet/connect"
	sinkDir    = "/etc/freshet/sink"
)

// Kafka is how units reach Kafka and Kafka Connect.
type Kafka struct {
	// Brokers are bootstrap addresses.
	Brokers []string
	Broker  Access
	// ConnectURL is the address of Kafka Connect's REST interface; empty: units have no business there.
	ConnectURL string
	Connect    Access
}

// Access is how a client proves who it is, and how it verifies a server. The zero value does neither.
type Access struct {
	TLS bool
	// User and Mechanism of a password; empty User: none. Mechanism is empty where there is but one.
	User, Mechanism string
	// Password, CA, Cert and Key are where files come from; zero: there is no such file.
	Password, CA, Cert, Key SecretKey
}

// SecretKey is a key in a Secret.
type SecretKey struct{ Secret, Key string }

// The names of an Access's files.
const (
	passwordFile = "password"
	caFile       = "ca.crt"
	certFile     = "tls.crt"
	keyFile      = "tls.key"
)

// kafkaEnv tells a gateway how to reach Kafka. Connector and topics of a unit are named like its slot.
func (c Cluster) kafkaEnv() []corev1.EnvVar {
	if c.Kafka == nil {
		return nil
	}
	env := []corev1.EnvVar{
		{Name: "FRESHET_KAFKA_BROKERS", Value: strings.Join(c.Kafka.Brokers, ",")},
		{Name: "FRESHET_KAFKA_PREFIX", Value: SlotPrefix(c.HTAPCluster) + "$(FRESHET_UNIT)"},
	}
	if c.Spec.OLTP.CockroachDB != nil {
		env = []corev1.EnvVar{
			env[0],
			// The dot is what Debezium puts in between by itself.
			{Name: "FRESHET_KAFKA_PREFIX", Value: SlotPrefix(c.HTAPCluster) + "$(FRESHET_UNIT)."},
			{Name: "FRESHET_SOURCE", Value: "cockroachdb"},
			{Name: "FRESHET_CHANGEFEED_SINK_FILE", Value: sinkDir + "/" + sinkKey},
		}
	}
	env = append(env, c.Kafka.Broker.env("FRESHET_KAFKA_", "SASL_", kafkaDir)...)
	switch {
	case byStrimzi(c.HTAPCluster):
		env = append(env, corev1.EnvVar{Name: "FRESHET_CONNECT_MANAGED_AS", Value: UnitsName(c.HTAPCluster) + "-$(FRESHET_UNIT)"})
	case c.Spec.OLTP.PostgreSQL != nil:
		env = append(env, fromSecret("FRESHET_CONNECT_DATABASE_URL", c.ConnectionSecret, WorkerKey))
	}
	if c.Kafka.ConnectURL != "" {
		env = append(env, corev1.EnvVar{Name: "FRESHET_CONNECT_URL", Value: c.Kafka.ConnectURL})
		env = append(env, c.Kafka.Connect.env("FRESHET_CONNECT_", "", connectDir)...)
	}
	return env
}

// env names the files in dir by variables that begin with prefix, those of the account with account after it.
func (a Access) env(prefix, account, dir string) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(name, value string) { env = append(env, corev1.EnvVar{Name: prefix + name, Value: value}) }
	if a.TLS {
		add("TLS", "true")
	}
	for _, f := range []struct {
		from       SecretKey
		name, file string
	}{{a.CA, "TLS_CA_FILE", caFile}, {a.Cert, "TLS_CERT_FILE", certFile}, {a.Key, "TLS_KEY_FILE", keyFile}} {
		if f.from != (SecretKey{}) {
			add(f.name, dir+"/"+f.file)
		}
	}
	if a.User != "" {
		if a.Mechanism != "" {
			add(account+"MECHANISM", a.Mechanism)
		}
		add(account+"USER", a.User)
		add(account+"PASSWORD_FILE", dir+"/"+passwordFile)
	}
	return env
}

// kafkaVolumes are the files, and room for transactions that are too large for memory.
func (c Cluster) kafkaVolumes() []corev1.Volume {
	if c.Kafka == nil {
		return nil
	}
	var volumes []corev1.Volume
	var sink corev1.Volume
	if c.Spec.OLTP.CockroachDB != nil {
		sink = projected("sink", file{SecretKey{SinkName(c.HTAPCluster), sinkKey}, sinkKey})
	}
	for _, v := range []corev1.Volume{c.Kafka.Broker.volume("kafka"), c.Kafka.Connect.volume("connect"), sink} {
		if v.Projected != nil {
			volumes = append(volumes, v)
		}
	}
	return volumes
}

func (c Cluster) kafkaMounts() []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	dirs := map[string]string{"kafka": kafkaDir, "connect": connectDir, "sink": sinkDir}
	for _, v := range c.kafkaVolumes() {
		mounts = append(mounts, corev1.VolumeMount{Name: v.Name, MountPath: dirs[v.Name], ReadOnly: v.Projected != nil})
	}
	return mounts
}

// volume has the files; it has no source where there are none.
func (a Access) volume(name string) corev1.Volume {
	return projected(name, file{a.Password, passwordFile}, file{a.CA, caFile}, file{a.Cert, certFile}, file{a.Key, keyFile})
}

// file is a file in a volume.
type file struct {
	from SecretKey
	name string
}

// projected is a volume with those of the files that come from somewhere.
func projected(name string, files ...file) corev1.Volume {
	var sources []corev1.VolumeProjection
	for _, f := range files {
		if f.from == (SecretKey{}) {
			continue
		}
		sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: f.from.Secret},
			Items:                []corev1.KeyToPath{{Key: f.from.Key, Path: f.name}},
		}})
	}
	if sources == nil {
		return corev1.Volume{}
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: ptr.To[int32](0o440)},
	}}
}
