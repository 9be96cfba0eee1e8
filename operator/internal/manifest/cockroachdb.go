package manifest

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// cockroachUser is the user that CockroachDB runs as; its image works as any.
const cockroachUser = 1000

const (
	cockroachProgram = "/cockroach/cockroach"
	cockroachDataDir = "/cockroach/cockroach-data"
	cockroachCerts   = "/cockroach/cockroach-certs"
	// cockroachIssued is where the Secret is mounted. The server takes only keys that nobody but their owner may read, which a mounted Secret
	// cannot promise: a pod's group may read it.
	cockroachIssued = "/etc/freshet/certs"
)

// Ports of CockroachDB's pods and services.
const (
	CockroachPort     = 26257
	cockroachHTTPPort = 8080
)

// NodesName names the Service that gives each node of CockroachDB a name, and the Secret with the nodes' certificate.
func NodesName(c *v1alpha1.HTAPCluster) string { return OLTPName(c) + "-nodes" }

// CockroachCAName names the Secret with the authority of CockroachDB's own certificates: who has its key is root.
func CockroachCAName(c *v1alpha1.HTAPCluster) string { return OLTPName(c) + "-ca" }

// CockroachRootName names the Secret with root's certificate.
func CockroachRootName(c *v1alpha1.HTAPCluster) string { return OLTPName(c) + "-root" }

// CockroachHosts are the names by which nodes are reached, the Service's first.
func CockroachHosts(c *v1alpha1.HTAPCluster) []string {
	service, nodes := OLTPName(c), NodesName(c)
	return []string{
		service + "." + c.Namespace + ".svc", service, service + "." + c.Namespace, service + "." + c.Namespace + ".svc.cluster.local",
		"*." + nodes, "*." + nodes + "." + c.Namespace + ".svc", "*." + nodes + "." + c.Namespace + ".svc.cluster.local", "localhost",
	}
}

// cockroachNode is the address of a node. It need not be ready.
func (c Cluster) cockroachNode(number int32) string {
	return fmt.Sprintf("%s-%d.%s.%s.svc:%d", OLTPName(c.HTAPCluster), number, NodesName(c.HTAPCluster), c.Namespace, CockroachPort)
}

// CockroachNumber is the number of the pod with a node's address; false: it is no pod's.
func CockroachNumber(c *v1alpha1.HTAPCluster, address string) (int32, bool) {
	host, ok := strings.CutSuffix(address, fmt.Sprintf(".%s.%s.svc:%d", NodesName(c), c.Namespace, CockroachPort))
	if !ok {
		return 0, false
	}
	return PodNumber(OLTPName(c), host)
}

// PodNumber is the number of a StatefulSet's pod, or of its claim; false: it has none.
func PodNumber(set, name string) (int32, bool) {
	text, ok := strings.CutPrefix(name, set+"-")
	number, err := strconv.ParseInt(text, 10, 32)
	return int32(number), ok && err == nil && number >= 0
}

// ClaimName begins the names of the claims of a StatefulSet's volumes; a pod's number ends them.
func ClaimName(set string) string { return dataVolume + "-" + set }

// OLTPClaim begins the names of the claims of the builtin database's volumes, likewise.
func OLTPClaim(c *v1alpha1.HTAPCluster) string { return ClaimName(OLTPName(c)) }

// OLTPSelector finds the pods of the builtin database, and their claims.
func OLTPSelector(c *v1alpha1.HTAPCluster) map[string]string { return selector(c, componentOLTP) }

// leaving is the annotation of the StatefulSet with [Cluster.OLTPLeaving].
const leaving = "freshet.io/leaving-from"

// Leaves says that nodes of a CockroachDB's StatefulSet go.
func Leaves(set *appsv1.StatefulSet) bool { return set.Annotations[leaving] != "" }

// ReadSize reads from the StatefulSet how many pods there are, and which of them go.
func (c *Cluster) ReadSize(set *appsv1.StatefulSet) error {
	c.OLTPPods = ptr.Deref(set.Spec.Replicas, 1)
	text, ok := set.Annotations[leaving]
	if !ok {
		return nil
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 1 {
		return fmt.Errorf("read annotation %s of StatefulSet %q: %q is no number of a pod; remove the annotation", leaving, set.Name, text)
	}
	c.OLTPLeaving = int32(number)
	return nil
}

// CockroachDB is the StatefulSet of all nodes. They start all at once, for none is ready before most are there, and are replaced one by one.
func (c Cluster) CockroachDB() *appsv1.StatefulSet {
	spec := c.Spec.OLTP.CockroachDB
	pod := corev1.PodSpec{
		SecurityContext:               restrictPod(cockroachUser),
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](300),                                     // for draining: leases and clients go to other nodes
		InitContainers:                []corev1.Container{c.copyCertificates(spec.Resources)}, // at no cost: it ends before the server begins
		Containers:                    []corev1.Container{c.cockroach(spec)},
		Volumes:                       cockroachVolumes(NodesName(c.HTAPCluster)),
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentOLTP)},
		}},
	}
	place(&pod, c.OLTPPool)
	retention := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if c.Spec.DeletionPolicy == v1alpha1.Delete {
		retention = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	// Only what is decommissioned goes with its pod: who scales the StatefulSet by hand loses nothing.
	scaled := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	of := meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster))
	if c.OLTPLeaving > 0 {
		of.Annotations = map[string]string{leaving: strconv.Itoa(int(c.OLTPLeaving))}
		if c.OLTPPods == c.OLTPLeaving {
			scaled = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		}
	}
	return &appsv1.StatefulSet{
		ObjectMeta: of,
		Spec: appsv1.StatefulSetSpec{
			Replicas:            ptr.To(c.OLTPPods),
			ServiceName:         NodesName(c.HTAPCluster),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector:            &metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentOLTP)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(c.HTAPCluster, componentOLTP), Annotations: map[string]string{inputs: c.OLTPInputs}},
				Spec:       pod,
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim(spec.Storage)},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: retention, WhenScaled: scaled,
			},
		},
	}
}

func (c Cluster) cockroach(spec *v1alpha1.CockroachDBSpec) corev1.Container {
	var join []string
	for number := range min(3, spec.Replicas) { // any that runs knows all others
		join = append(join, c.cockroachNode(number))
	}
	quarter := fmt.Sprintf("%dMiB", spec.Resources.Memory.Value()/4/(1<<20))
	health := func(path string, period, failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTPS,
			}},
			PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 5,
		}
	}
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	return corev1.Container{
		Name:  "cockroachdb",
		Image: spec.Image,
		Command: []string{
			cockroachProgram, "start", "--certs-dir=" + cockroachCerts, "--store=" + cockroachDataDir,
			fmt.Sprintf("--listen-addr=:%d", CockroachPort), fmt.Sprintf("--http-addr=:%d", cockroachHTTPPort),
			fmt.Sprintf("--advertise-addr=$(POD_NAME).%s.%s.svc:%d", NodesName(c.HTAPCluster), c.Namespace, CockroachPort),
			"--join=" + strings.Join(join, ","), "--cache=" + quarter, "--max-sql-memory=" + quarter, "--logtostderr=WARNING",
		},
		Env:             []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}},
		Ports:           []corev1.ContainerPort{port("sql", CockroachPort), port("http", cockroachHTTPPort)},
		Resources:       equipped(spec.Resources, c.OLTPPool),
		SecurityContext: restrictContainer(),
		VolumeMounts:    []corev1.VolumeMount{mount("data", cockroachDataDir), mount("certs", cockroachCerts), mount("tmp", "/tmp")},
		LivenessProbe:   health("/health", 10, 6),
		ReadinessProbe:  health("/health?ready=1", 5, 2),
	}
}

// copyCertificates makes keys that only the server may read.
func (c Cluster) copyCertificates(resources v1alpha1.ResourcesSpec) corev1.Container {
	return corev1.Container{
		Name:            "certificates",
		Image:           c.Spec.OLTP.CockroachDB.Image,
		Command:         []string{"/bin/sh", "-c", fmt.Sprintf("cp -L %s/* %s/ && chmod 0400 %s/*.key", cockroachIssued, cockroachCerts, cockroachCerts)},
		Resources:       guaranteed(resources),
		SecurityContext: restrictContainer(),
		VolumeMounts:    []corev1.VolumeMount{{Name: "issued", MountPath: cockroachIssued, ReadOnly: true}, mount("certs", cockroachCerts)},
	}
}

// cockroachVolumes are the certificates in a Secret, and room for their copies, which is in memory.
func cockroachVolumes(secret string) []corev1.Volume {
	return []corev1.Volume{
		secretVolume("issued", secret),
		{Name: "certs", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		scratch("tmp"),
	}
}
