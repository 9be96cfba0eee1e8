package manifest

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// unitUser is the user of ClickHouse's image; the gateway runs as any.
const unitUser = 101

const (
	engineConfigDir = "/etc/freshet/engine"
	engineDataDir   = "/var/lib/clickhouse"
	tlsDir          = "/etc/freshet/tls"
	oltpDir         = "/etc/freshet/oltp"
)

// Units is the StatefulSet of all units. Its pods start all at once and are replaced one by one: the next when the one before is
// ready, which means fresh.
func (c Cluster) Units() *appsv1.StatefulSet {
	pod := corev1.PodSpec{
		SecurityContext:               restrictPod(unitUser),
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(int64((c.Spec.Gateway.DrainTime.Duration + endTime).Seconds())),
		InitContainers:                []corev1.Container{c.engine()},
		Containers:                    []corev1.Container{c.gateway()},
		Volumes:                       c.unitVolumes(),
		// Units are spread where there are nodes enough.
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(c.HTAPCluster)},
		}},
	}
	place(&pod, c.UnitPool)
	c.apart(&pod)
	return &appsv1.StatefulSet{
		ObjectMeta: meta(c.HTAPCluster, componentUnit, UnitsName(c.HTAPCluster)),
		Spec: appsv1.StatefulSetSpec{
			Replicas:            ptr.To(c.Spec.Columnar.Units),
			ServiceName:         UnitsName(c.HTAPCluster),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector:            &metav1.LabelSelector{MatchLabels: Selector(c.HTAPCluster)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(c.HTAPCluster, componentUnit), Annotations: map[string]string{inputs: c.Inputs}},
				Spec:       pod,
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim(c.Spec.Columnar.Storage)},
			// They hold copies.
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			},
		},
	}
}

// endTime is what a unit takes to end when its clients have left: 5 s of the gateway's, and the engine's.
const endTime = 20 * time.Second

// engine is a sidecar: it starts before the gateway and ends after it, so clients that are leaving still get answers. It has no probe: it
// listens inside of the pod only, and the gateway tells whether it works.
func (c Cluster) engine() corev1.Container {
	return corev1.Container{
		Name:            "engine",
		Image:           cmp.Or(c.Spec.Columnar.Image, c.Images.Engine),
		RestartPolicy:   ptr.To(corev1.ContainerRestartPolicyAlways),
		Command:         []string{"clickhouse-server", "--config-file=" + engineConfigDir + "/config.yaml"},
		Env:             []corev1.EnvVar{fromSecret("FRESHET_ENGINE_PASSWORD", EngineName(c.HTAPCluster), "password")},
		Resources:       equipped(c.Spec.Columnar.Resources, c.UnitPool),
		SecurityContext: restrictContainer(),
		VolumeMounts: []corev1.VolumeMount{
			mount("data", engineDataDir), {Name: "engine", MountPath: engineConfigDir, ReadOnly: true}, mount("engine-tmp", "/tmp"),
		},
	}
}

func (c Cluster) gateway() corev1.Container {
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	// Its /tmp takes what slow readers of a result have yet to get and, with Kafka, large transactions.
	mounts := []corev1.VolumeMount{mount("gateway-tmp", "/tmp"), {Name: "tls", MountPath: tlsDir, ReadOnly: true}, tenantsMount()}
	if c.HasCA {
		mounts = append(mounts, corev1.VolumeMount{Name: "oltp", MountPath: oltpDir, ReadOnly: true})
	}
	return corev1.Container{
		Name:            "gateway",
		Image:           cmp.Or(c.Spec.Gateway.Image, c.Images.Gateway),
		Command:         []string{"freshet", "gateway"},
		Env:             c.gatewayEnv(),
		Ports:           []corev1.ContainerPort{port("sql", SQLPort), port("monitor", MonitorPort)},
		Resources:       guaranteed(c.Spec.Gateway.Resources),
		SecurityContext: restrictContainer(),
		VolumeMounts:    append(mounts, c.kafkaMounts()...),
		LivenessProbe:   probe("/healthz", 10, 6),
		// Fresh or not: a unit that fell behind leaves the Service within two periods.
		ReadinessProbe: probe("/readyz", 1, 2),
	}
}

func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("monitor")}},
		PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 2,
	}
}

func (c Cluster) gatewayEnv() []corev1.EnvVar {
	value := func(name, text string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: text} }
	env := []corev1.EnvVar{
		value("FRESHET_LISTEN", ":"+strconv.Itoa(SQLPort)),
		value("FRESHET_MONITOR_LISTEN", ":"+strconv.Itoa(MonitorPort)),
		fromSecret("FRESHET_POSTGRES_URL", c.ConnectionSecret, "uri"),
		value("FRESHET_ENGINE_ADDR", "127.0.0.1:"+strconv.Itoa(enginePort)),
		value("FRESHET_ENGINE_USER", engineUser),
		fromSecret("FRESHET_ENGINE_PASSWORD", EngineName(c.HTAPCluster), "password"),
		{Name: "FRESHET_UNIT", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			APIVersion: "v1", FieldPath: "metadata.labels['" + appsv1.PodIndexLabel + "']",
		}}},
		value("FRESHET_SLOT", SlotPrefix(c.HTAPCluster)+"$(FRESHET_UNIT)"),
		value("FRESHET_INCLUDE", patterns(c.Spec.Columnar.Tables.Include)),
		value("FRESHET_READY_STALENESS", c.Spec.Gateway.Freshness.Objective.Duration.String()),
		value("FRESHET_PEERS", fmt.Sprintf("%s.%s.svc:%d", UnitsName(c.HTAPCluster), c.Namespace, MonitorPort)),
		value("FRESHET_DRAIN", c.Spec.Gateway.DrainTime.Duration.String()),
		value("FRESHET_DEFAULT_FRESHNESS", string(c.Spec.Gateway.Freshness.Default.Mode)),
		value("FRESHET_DEFAULT_MAX_STALENESS", c.Spec.Gateway.Freshness.Default.MaxStaleness.Duration.String()),
		value("FRESHET_TENANTS_FILE", tenantsDir+"/"+tenantsFile),
		value("FRESHET_TLS_CERT_FILE", tlsDir+"/tls.crt"),
		value("FRESHET_TLS_KEY_FILE", tlsDir+"/tls.key"),
		// Garbage is collected before the limit is reached.
		value("GOMEMLIMIT", strconv.FormatInt(c.Spec.Gateway.Resources.Memory.Value()/10*9, 10)),
	}
	if len(c.Spec.Columnar.Tables.Exclude) > 0 {
		env = append(env, value("FRESHET_EXCLUDE", patterns(c.Spec.Columnar.Tables.Exclude)))
	}
	if ByCloudNativePG(c.HTAPCluster) {
		env = append(env, value("FRESHET_SLOT_FAILOVER", "true"))
	}
	if c.HasCA {
		env = append(env, value("PGSSLROOTCERT", oltpDir+"/ca.crt"))
	}
	return append(env, c.kafkaEnv()...)
}

func (c Cluster) unitVolumes() []corev1.Volume {
	volumes := []corev1.Volume{
		{Name: "engine", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: EngineName(c.HTAPCluster)}, DefaultMode: ptr.To[int32](0o444),
		}}},
		scratch("engine-tmp"), scratch("gateway-tmp"),
		secretVolume("tls", c.CertificateSecret, "tls.crt", "tls.key"),
		c.tenantsVolume(),
	}
	if c.HasCA {
		volumes = append(volumes, secretVolume("oltp", c.ConnectionSecret, "ca.crt"))
	}
	return append(volumes, c.kafkaVolumes()...)
}
