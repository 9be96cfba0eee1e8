package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// postgresUser is the user of PostgreSQL's official image.
const postgresUser = 999

// The roles of the builtin database: the superuser that the image creates with the volume, the owner of the database, which applications use, and
// that of units.
const (
	postgresSuperuser = "freshet"
	postgresOwner     = "freshet_app"
	postgresUnits     = "freshet_units"
)

const (
	postgresMount  = "/var/lib/postgresql/data"
	postgresData   = postgresMount + "/pgdata" // a volume's root has a lost+found
	postgresTLSDir = "/etc/freshet/tls"
)

// initdbArgs is the variable by which the image initialises a volume.
const initdbArgs = "POSTGRES_INITDB_ARGS"

// PostgreSQL is the StatefulSet of the builtin database.
func (c Cluster) PostgreSQL() *appsv1.StatefulSet {
	spec := c.Spec.OLTP.PostgreSQL
	pod := corev1.PodSpec{
		SecurityContext:               restrictPod(postgresUser),
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](120), // for the checkpoint of an orderly end
		Containers:                    []corev1.Container{c.postgres(spec)},
		Volumes: []corev1.Volume{scratch("run"), scratch("tmp"), {Name: "shm", VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}, // parallel queries need more than the usual 64 MB
		}}, secretVolume("tls", OLTPTLSName(c.HTAPCluster))},
	}
	c.archive(&pod)
	place(&pod, c.OLTPPool)
	retention := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if c.Spec.DeletionPolicy == v1alpha1.Delete {
		retention = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return &appsv1.StatefulSet{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster)),
		Spec: appsv1.StatefulSetSpec{
			Replicas:    ptr.To[int32](1),
			ServiceName: OLTPName(c.HTAPCluster),
			Selector:    &metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentOLTP)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(c.HTAPCluster, componentOLTP), Annotations: map[string]string{inputs: c.OLTPInputs}},
				Spec:       pod,
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim(spec.Storage)},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: retention, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
		},
	}
}

func (c Cluster) postgres(spec *v1alpha1.PostgreSQLSpec) corev1.Container {
	ready := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{
		"pg_isready", "--quiet", "--host=127.0.0.1", "--username=" + postgresSuperuser, "--dbname=" + spec.Database,
	}}}
	return corev1.Container{
		Name:  "postgresql",
		Image: cmp.Or(spec.Image, c.Images.PostgreSQL),
		Args:  append([]string{"postgres"}, settings(spec, c.OLTPPool)...),
		Env: []corev1.EnvVar{
			{Name: "POSTGRES_USER", Value: postgresSuperuser},
			fromSecret("POSTGRES_PASSWORD", c.OLTPRoles()[0].Secret, PasswordKey),
			{Name: "POSTGRES_DB", Value: spec.Database},
			// Texts are compared on the replica only where their collation orders by bytes.
			{Name: initdbArgs, Value: "--encoding=UTF8 --locale=C.UTF-8 --data-checksums"},
			{Name: "PGDATA", Value: postgresData},
		},
		Ports:           []corev1.ContainerPort{{Name: "sql", ContainerPort: SQLPort, Protocol: corev1.ProtocolTCP}},
		Resources:       equipped(spec.Resources, c.OLTPPool),
		SecurityContext: restrictContainer(),
		VolumeMounts: []corev1.VolumeMount{
			mount("data", postgresMount), mount("run", socketsDir), mount("tmp", "/tmp"), mount("shm", "/dev/shm"),
			{Name: "tls", MountPath: postgresTLSDir, ReadOnly: true},
		},
		// There is no liveness probe: to kill a server that recovers or is overloaded makes it worse.
		ReadinessProbe: &corev1.Probe{ProbeHandler: ready, PeriodSeconds: 5, FailureThreshold: 3, TimeoutSeconds: 5},
	}
}

// slots are enough for the most units that there can be, so that scaling restarts no database: a stream and a copy each, and some spare.
const slots = "80"

// defaultSettings are what the spec asks for, by itself or by its sizes.
func defaultSettings(spec *v1alpha1.PostgreSQLSpec, pool *v1alpha1.HTAPNodePool) map[string]string {
	const mebi = 1 << 20
	all := map[string]string{
		"shared_buffers": fmt.Sprintf("%dMB", spec.Resources.Memory.Value()/4/mebi),
		// A server that tries and may not have any is killed by some runtimes when it uses them.
		"huge_pages": "off",
	}
	if spec.Archive != nil {
		all["archive_timeout"] = "300s" // what is lost with the data volume at the most
	}
	if pool != nil && pool.Spec.HugePages != nil {
		pages := pool.Spec.HugePages
		all["huge_pages"], all["huge_page_size"] = "try", strings.TrimSuffix(pages.Size, "i")+"B"
		all["shared_buffers"] = fmt.Sprintf("%dMB", pages.Amount.Value()/8*7/mebi) // the rest is for what else is shared
	}
	for name, value := range spec.Parameters {
		all[name] = string(value)
	}
	return all
}

// settings are the server's command line.
func settings(spec *v1alpha1.PostgreSQLSpec, pool *v1alpha1.HTAPNodePool) []string {
	all := defaultSettings(spec, pool)
	maps.Copy(all, map[string]string{
		"listen_addresses": "*", "wal_level": "logical", "max_replication_slots": slots, "max_wal_senders": slots,
		"ssl": "on", "ssl_cert_file": postgresTLSDir + "/" + corev1.TLSCertKey, "ssl_key_file": postgresTLSDir + "/" + corev1.TLSPrivateKeyKey,
	})
	if spec.Archive != nil {
		maps.Copy(all, archiveSettings())
	}
	var args []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "-c", name+"="+all[name])
	}
	return args
}

// slotLimit is the setting of how much of its log a server keeps for a slot. A unit that stays away must not fill the volume: beyond this its slot
// is lost, and the unit is copied anew.
const slotLimit = "max_slot_wal_keep_size"

func slotLimitOf(volume resource.Quantity) string {
	return fmt.Sprintf("%dMB", volume.Value()/3/(1<<20))
}

// SlotLimit is what the builtin PostgreSQL with such a volume is to be told of its slots while it runs: were it on its command line, a volume that grows would
// restart it. Empty: parameters say it.
func (c Cluster) SlotLimit(volume resource.Quantity) string {
	if _, ok := c.Spec.OLTP.PostgreSQL.Parameters[slotLimit]; ok {
		return ""
	}
	return slotLimitOf(volume)
}

// OLTPCertificate is the Secret with the builtin PostgreSQL's certificate.
func (c Cluster) OLTPCertificate(cert, key []byte) *corev1.Secret {
	return tlsSecret(meta(c.HTAPCluster, componentOLTP, OLTPTLSName(c.HTAPCluster)), cert, key)
}

// WorkerKey is the connection string for workers of Kafka Connect, which have no file with the authority: they encrypt, and do not verify.
const WorkerKey = "worker-uri"

// OLTPRole is a role of the builtin PostgreSQL, and the Secret with its credentials.
type OLTPRole struct{ Name, Secret string }

// OLTPSuperuserName names the Secret of the builtin PostgreSQL's superuser, which only the operator and the database's pod need.
func OLTPSuperuserName(c *v1alpha1.HTAPCluster) string { return OLTPName(c) + "-superuser" }

// OLTPUnitsName names the Secret of the units' role in the builtin PostgreSQL.
func OLTPUnitsName(c *v1alpha1.HTAPCluster) string { return OLTPName(c) + "-units" }

// OLTPRoles are the roles of the builtin PostgreSQL, the superuser first and that of applications last. Where the volume was made when there was one
// role for all, it is both.
func (c Cluster) OLTPRoles() []OLTPRole {
	if ByCloudNativePG(c.HTAPCluster) {
		return []OLTPRole{{CloudNativePGRole, OLTPName(c.HTAPCluster)}}
	}
	if c.SoleRole {
		return []OLTPRole{{postgresSuperuser, OLTPName(c.HTAPCluster)}}
	}
	return []OLTPRole{
		{postgresSuperuser, OLTPSuperuserName(c.HTAPCluster)}, {postgresUnits, OLTPUnitsName(c.HTAPCluster)}, {postgresOwner, OLTPName(c.HTAPCluster)},
	}
}

// IsSoleRole says of a Secret for applications whether its role is the superuser too.
func IsSoleRole(secret map[string][]byte) bool {
	return len(secret[PasswordKey]) > 0 && string(secret["username"]) != postgresOwner
}

// Credentials are what the Secret of a role of the builtin database knows of its password.
type Credentials struct {
	Password string
	// Next is the password that it is about to be replaced by; empty: none.
	Next string
	// Rotation is what asked for the last replacement.
	Rotation string
	// Provisioned says of the superuser's that the other roles are there, with what they may do.
	Provisioned bool
	// SlotLimit of the superuser's is what the server was last told of its slots; empty: nothing.
	SlotLimit string
}

// The keys of credentials in Secrets.
const (
	PasswordKey     = "password"
	NextPasswordKey = "next-password"
	RotationKey     = "rotation"
	ProvisionedKey  = "provisioned"
	SlotLimitKey    = "slot-limit"
)

// RoleSecret is the Secret with the credentials of a role of the operator's own PostgreSQL. Like the volume that knows the password it outlives
// the cluster where the deletion policy says so. CloudNativePG reads the password from it before there is an authority.
func (c Cluster) RoleSecret(role OLTPRole, credentials Credentials, authority []byte) *corev1.Secret {
	address := fmt.Sprintf("%s:%d", PostgreSQLHost(c.HTAPCluster), SQLPort)
	database := c.Spec.OLTP.PostgreSQL.Database
	uri := func(address, parameters string) []byte {
		return fmt.Appendf(nil, "postgresql://%s:%s@%s/%s?%s", role.Name, credentials.Password, address, database, parameters)
	}
	secret := &corev1.Secret{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, role.Secret),
		Data: map[string][]byte{
			"username": []byte(role.Name), PasswordKey: []byte(credentials.Password), "database": []byte(database),
			"uri": uri(address, "sslmode=verify-full"),
		},
	}
	if len(authority) > 0 {
		secret.Data[caFile] = authority
	}
	if ByCloudNativePG(c.HTAPCluster) {
		secret.Type = corev1.SecretTypeBasicAuth
		secret.Labels["cnpg.io/reload"] = "true" // a new password is noticed
	}
	if role.Secret == OLTPName(c.HTAPCluster) {
		secret.Data["endpoint-uri"] = uri(Endpoint(c.HTAPCluster), "sslmode=require")
	}
	if role.Secret == OLTPUnitsName(c.HTAPCluster) || len(c.OLTPRoles()) == 1 {
		secret.Data[WorkerKey] = uri(address, "sslmode=require")
	}
	for key, value := range map[string]string{NextPasswordKey: credentials.Next, RotationKey: credentials.Rotation, SlotLimitKey: credentials.SlotLimit} {
		if value != "" {
			secret.Data[key] = []byte(value)
		}
	}
	if credentials.Provisioned {
		secret.Data[ProvisionedKey] = []byte("true")
	}
	return secret
}
