//go:build e2e

package pods

import (
	"bytes"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"fmt"
	"text/template"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/utils/ptr"
)

// The user's Kafka: the hosts of broker and Kafka Connect, their ports, the accounts of the workers and of the units, and where the pods
// find their files.
const (
	brokerHost     = "kafka"
	brokerPort     = 9093
	workerHost     = "connect"
	workerPort     = 8083
	workerAccount  = "worker"
	unitAccount    = "unit"
	kafkaConfigDir = "/etc/kafka"
	kafkaDataDir   = "/var/lib/kafka"
)

//go:embed testdata/broker.properties
var brokerSettings string

//go:embed testdata/worker.properties
var workerSettings string

//go:embed testdata/log4j2.properties
var kafkaLogging string

// startKafka runs a broker and a Kafka Connect that the operator knows nothing of, and returns the certificate that the broker's is verified by.
// Clients come by TLS and SCRAM; accounts have their name as password.
func (w *world) startKafka() (authority []byte) {
	w.t.Helper()
	if w.images["kafka"] == "" {
		w.t.Fatal("there is no image kafka: make e2e builds it for all tests, or where ARGS says Kafka")
	}
	server, key := w.certify(brokerHost)
	files := map[string][]byte{
		"broker.pem": append(key, server...), "ca.crt": server, // it was signed by the last one in the chain
		"broker.properties": w.settings(brokerSettings), "worker.properties": w.settings(workerSettings), "log4j2.properties": []byte(kafkaLogging),
	}
	w.create(&corev1.Secret{ObjectMeta: bystander(brokerHost), Data: files})
	scram := func(account string) string {
		return fmt.Sprintf("SCRAM-SHA-512=[name=%[1]s,password=%[1]s]", account)
	}
	broker := w.java(brokerHost, "-Xmx256m", "-XX:TieredStopAtLevel=1", "kafka.Kafka", kafkaConfigDir+"/broker.properties")
	format := w.java("format", "-Xmx64m", "kafka.tools.StorageTool", "format", "--ignore-formatted", "--cluster-id", "ZnJlc2hldC1wb2RzLTAwMQ",
		"--config", kafkaConfigDir+"/broker.properties", "--add-scram", scram(workerAccount), "--add-scram", scram(unitAccount))
	worker := w.java(workerHost, "-Xmx512m", "-Xmn340m", "org.apache.kafka.connect.cli.ConnectDistributed", kafkaConfigDir+"/worker.properties")
	broker.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(brokerPort)},
	}}
	worker.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(workerPort), Path: "/health"},
	}}
	data := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	mount := corev1.VolumeMount{Name: data.Name, MountPath: kafkaDataDir}
	format.VolumeMounts, broker.VolumeMounts = append(format.VolumeMounts, mount), append(broker.VolumeMounts, mount)
	w.serve(brokerHost, brokerPort, corev1.PodSpec{InitContainers: []corev1.Container{format}, Containers: []corev1.Container{broker}}, data)
	w.serve(workerHost, workerPort, corev1.PodSpec{Containers: []corev1.Container{worker}})
	return server
}

// certify makes a certificate for a host of the namespace, and its key as Java reads it.
func (w *world) certify(host string) (chain, key []byte) {
	w.t.Helper()
	chain, key, err := cert.GenerateSelfSignedCertKey(host+"."+w.namespace+".svc", nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	private, err := keyutil.ParsePrivateKeyPEM(key)
	if err != nil {
		w.t.Fatal(err)
	}
	if key, err = x509.MarshalPKCS8PrivateKey(private); err != nil {
		w.t.Fatal(err)
	}
	return chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
}

// settings fills a configuration in.
func (w *world) settings(text string) []byte {
	w.t.Helper()
	var b bytes.Buffer
	err := template.Must(template.New("").Parse(text)).Execute(&b, map[string]any{
		"Broker": w.broker(), "BrokerPort": brokerPort, "WorkerPort": workerPort, "Config": kafkaConfigDir, "Data": kafkaDataDir, "Account": workerAccount,
		"Clients": []string{"", "producer.", "admin."}, // the worker, its connectors' producers, and what creates their topics
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Bytes()
}

// broker is the address for clients.
func (w *world) broker() string {
	return fmt.Sprintf("%s.%s.svc:%d", brokerHost, w.namespace, brokerPort)
}

// workerURL is that of Kafka Connect's REST interface.
func (w *world) workerURL() string {
	return fmt.Sprintf("http://%s.%s.svc:%d", workerHost, w.namespace, workerPort)
}

// java is a container that runs one of Kafka's programs.
func (w *world) java(name string, args ...string) corev1.Container {
	options := []string{"-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Dlog4j2.configurationFile=" + kafkaConfigDir + "/log4j2.properties"}
	return corev1.Container{
		Name: name, Image: w.images["kafka"], Args: append(options, args...), SecurityContext: unprivileged(),
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: kafkaConfigDir}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
		}},
	}
}

// serve runs a pod of a StatefulSet, whose files are in the broker's Secret, and a Service before it.
func (w *world) serve(name string, port int32, pod corev1.PodSpec, claims ...corev1.PersistentVolumeClaim) {
	w.t.Helper()
	const user = 1000
	meta := bystander(name)
	pod.SecurityContext = unprivilegedPod(user)
	pod.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: brokerHost, DefaultMode: ptr.To[int32](0o440)},
	}}}
	w.create(&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: port, TargetPort: intstr.FromInt32(port)}},
	}})
	w.create(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
		ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: pod},
		VolumeClaimTemplates: claims,
	}})
}
