package manifest_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/debezium"
	access "github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func resources(cpu, memory string) v1alpha1.ResourcesSpec {
	return v1alpha1.ResourcesSpec{CPU: resource.MustParse(cpu), Memory: resource.MustParse(memory)}
}

// shop is a cluster with its defaults.
func shop(oltp v1alpha1.OLTPSpec) manifest.Cluster {
	return manifest.Cluster{
		HTAPCluster: &v1alpha1.HTAPCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "trade", UID: "0a1b2c3d-0000-4000-8000-000000000000"},
			Spec: v1alpha1.HTAPClusterSpec{
				OLTP: oltp,
				Columnar: v1alpha1.ColumnarSpec{
					Units: 2, Resources: resources("2", "4Gi"), Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("20Gi")},
					Tables: v1alpha1.TablesSpec{Include: []v1alpha1.TablePattern{"public.*"}, Exclude: []v1alpha1.TablePattern{"public.log", "public.audit"}},
				},
				Gateway: v1alpha1.GatewaySpec{Resources: resources("1", "1Gi"), DrainTime: metav1.Duration{Duration: 30 * time.Second}, Freshness: v1alpha1.FreshnessSpec{
					Objective: metav1.Duration{Duration: 5 * time.Second},
					Default:   v1alpha1.SessionFreshness{Mode: "bounded", MaxStaleness: metav1.Duration{Duration: time.Second}},
				}},
				DeletionPolicy: v1alpha1.Retain,
			},
		},
		Images:            manifest.Images{Gateway: "freshet:1", Engine: "clickhouse:1", PostgreSQL: "postgres:1"},
		ConnectionSecret:  "shop-db",
		CertificateSecret: "shop-tls",
		Inputs:            "0123456789abcdef",
		OLTPInputs:        "fedcba9876543210",
	}
}

func TestCluster_buildsItsUnits(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
	c.HasCA = true
	c.UnitPool = &v1alpha1.HTAPNodePool{Spec: v1alpha1.HTAPNodePoolSpec{
		NodeSelector: map[string]string{"pool": "olap"}, Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
	}}
	config, err := c.EngineConfig()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "units.yaml", config, c.EndpointService(), c.UnitsService(), c.UnitsDisruption(), c.UnitsPolicy(), c.Units())
}

func TestCluster_buildsItsDatabase(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{
		Database: "app", Resources: resources("2", "4Gi"), Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("30Gi")},
		Parameters: map[string]v1alpha1.ParameterValue{"work_mem": "64MB", "shared_buffers": "2GB"},
	}})
	pem := []byte("PEM")
	var objects []client.Object
	for _, role := range c.OLTPRoles() {
		objects = append(objects, c.RoleSecret(role, manifest.Credentials{Password: "secret"}, pem))
	}
	golden(t, "postgresql.yaml", append(objects, c.OLTPCertificate(pem, pem), c.OLTPService(), c.OLTPPolicy(), c.PostgreSQL())...)
}

func TestCluster_leavesOldVolumesTheirRole(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{Database: "app"}})
	c.SoleRole = true
	roles := c.OLTPRoles()
	if diff := cmp.Diff([]manifest.OLTPRole{{Name: "freshet", Secret: "shop-oltp"}}, roles); diff != "" {
		t.Fatalf("roles (-want +got):\n%s", diff)
	}
	secret := c.RoleSecret(roles[0], manifest.Credentials{Password: "secret", Next: "next", Rotation: "1"}, []byte("PEM"))
	want := []string{"ca.crt", "database", "endpoint-uri", "next-password", "password", "rotation", "uri", "username", "worker-uri"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(secret.Data))); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// equippedPool gives pods all that there is.
func equippedPool() *v1alpha1.HTAPNodePool {
	return &v1alpha1.HTAPNodePool{Spec: v1alpha1.HTAPNodePoolSpec{
		NodeSelector: map[string]string{"pool": "fast"}, CPUPinning: true,
		HugePages: &v1alpha1.HugePagesSpec{Size: "1Gi", Amount: resource.MustParse("2Gi")},
		RDMA:      &v1alpha1.RDMASpec{ResourceName: "rdma/hca_shared_devices_a", Count: 1},
	}}
}

func TestCluster_equipsItsPodsAsTheirPoolSays(t *testing.T) {
	p := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{
		Database: "app", Resources: resources("2", "4Gi"), Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("30Gi")},
	}})
	p.UnitPool, p.OLTPPool = equippedPool(), equippedPool()
	c := cockroach()
	c.OLTPPool = equippedPool()
	golden(t, "equipped.yaml", p.PostgreSQL(), p.Units(), c.CockroachDB(), c.CockroachInit())
}

func TestPostgreSQL_usesThePagesOfItsPoolUnlessParametersSayOtherwise(t *testing.T) {
	spec := &v1alpha1.PostgreSQLSpec{Database: "app", Resources: resources("2", "4Gi"), Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("30Gi")}}
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: spec})
	pages := func(size, amount string) *v1alpha1.HTAPNodePool {
		return &v1alpha1.HTAPNodePool{Spec: v1alpha1.HTAPNodePoolSpec{HugePages: &v1alpha1.HugePagesSpec{Size: size, Amount: resource.MustParse(amount)}}}
	}
	for name, step := range map[string]struct {
		pool       *v1alpha1.HTAPNodePool
		parameters map[string]v1alpha1.ParameterValue
		want       []string
	}{
		"no pool":    {nil, nil, []string{"huge_pages=off", "shared_buffers=1024MB"}},
		"no pages":   {&v1alpha1.HTAPNodePool{}, nil, []string{"huge_pages=off", "shared_buffers=1024MB"}},
		"pages":      {pages("2Mi", "2Gi"), nil, []string{"huge_page_size=2MB", "huge_pages=try", "shared_buffers=1792MB"}},
		"big pages":  {pages("1Gi", "4Gi"), nil, []string{"huge_page_size=1GB", "huge_pages=try", "shared_buffers=3584MB"}},
		"parameters": {pages("2Mi", "2Gi"), map[string]v1alpha1.ParameterValue{"huge_pages": "on", "shared_buffers": "1GB"}, []string{"huge_page_size=2MB", "huge_pages=on", "shared_buffers=1GB"}},
	} {
		c.OLTPPool, spec.Parameters = step.pool, step.parameters
		var got []string
		for _, arg := range c.PostgreSQL().Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "huge_page") || strings.HasPrefix(arg, "shared_buffers") {
				got = append(got, arg)
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// cloudNative is a cluster whose database CloudNativePG runs.
func cloudNative() manifest.Cluster {
	return shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{
		Provider: v1alpha1.CloudNativePG, Database: "app", Resources: resources("2", "4Gi"), Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("30Gi")},
	}})
}

func TestCluster_buildsItsDatabaseByCloudNativePG(t *testing.T) {
	c := cloudNative()
	spec := c.Spec.OLTP.PostgreSQL
	spec.Instances, spec.Image, spec.MemberOf, spec.Storage.StorageClassName = 5, "postgresql:18", []v1alpha1.RoleName{"sales"}, ptr.To("fast")
	spec.Parameters = map[string]v1alpha1.ParameterValue{"work_mem": "64MB"}
	c.OLTPPool = &v1alpha1.HTAPNodePool{Spec: v1alpha1.HTAPNodePoolSpec{
		NodeSelector: map[string]string{"pool": "oltp"},
		Tolerations: []corev1.Toleration{
			{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "oltp", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](60)},
			{Operator: corev1.TolerationOpExists},
		},
		HugePages: &v1alpha1.HugePagesSpec{Size: "2Mi", Amount: resource.MustParse("1Gi")},
	}}
	golden(t, "cloudnativepg.yaml", c.RoleSecret(c.OLTPRoles()[0], manifest.Credentials{Password: "secret"}, []byte("PEM")), c.CloudNativePGPolicy(), c.CloudNativePGCluster())
}

func TestCluster_leavesToCloudNativePGWhatIsNotGiven(t *testing.T) {
	c := cloudNative()
	spec := c.CloudNativePGCluster().Object["spec"].(map[string]any)
	_, image := spec["imageName"]
	_, placed := spec["affinity"]
	if spec["instances"] != int64(3) || image || placed {
		t.Errorf("%v instances; an image: %t, an affinity: %t", spec["instances"], image, placed)
	}
	if _, known := c.RoleSecret(c.OLTPRoles()[0], manifest.Credentials{Password: "secret"}, nil).Data["ca.crt"]; known {
		t.Error("the connection has an authority before there is one")
	}
}

func TestCluster_givesUnitsSlotsThatOutliveAFailover(t *testing.T) {
	for want, c := range map[string]manifest.Cluster{
		"true": cloudNative(), "": shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal}),
	} {
		got := ""
		for _, v := range c.Units().Spec.Template.Spec.Containers[0].Env {
			if v.Name == "FRESHET_SLOT_FAILOVER" {
				got = v.Value
			}
		}
		if got != want {
			t.Errorf("FRESHET_SLOT_FAILOVER is %q, want %q", got, want)
		}
	}
}

func TestCluster_hasItsCertificateIssued(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
	c.Spec.Gateway.TLS.CertManager = &v1alpha1.CertManagerSpec{
		IssuerRef: v1alpha1.IssuerReference{Name: "ca", Kind: "ClusterIssuer", Group: "cert-manager.io"}, DNSNames: []v1alpha1.DNSName{"shop.example.com"},
		Duration: &metav1.Duration{Duration: 48 * time.Hour},
	}
	golden(t, "certmanager.yaml", c.IssuedCertificate())
}

func TestAuthoritySecret_isThatOfTheCertificate(t *testing.T) {
	for want, tls := range map[string]v1alpha1.TLSSpec{
		"shop-ca": {}, "given": {SecretRef: &v1alpha1.SecretReference{Name: "given"}}, "shop-endpoint-tls": {CertManager: &v1alpha1.CertManagerSpec{}},
	} {
		c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
		c.Spec.Gateway.TLS = tls
		if got, own := manifest.AuthoritySecret(c.HTAPCluster); got != want || own != (want == "shop-ca") {
			t.Errorf("Secret %s, own: %t, want %s", got, own, want)
		}
	}
}

// kafka is an access to everything, by passwords and certificates.
func kafka() *manifest.Kafka {
	key := func(secret, key string) manifest.SecretKey { return manifest.SecretKey{Secret: secret, Key: key} }
	return &manifest.Kafka{
		Brokers: []string{"k-0:9093", "k-1:9093"},
		Broker: manifest.Access{TLS: true, User: "unit", Mechanism: "SCRAM-SHA-512", Password: key("kafka", "password"), CA: key("kafka", "ca.crt"),
			Cert: key("kafka", "tls.crt"), Key: key("kafka", "tls.key")},
		ConnectURL: "https://connect:8443",
		Connect:    manifest.Access{TLS: true, User: "clerk", Password: key("connect", "password"), CA: key("connect", "ca.crt")},
	}
}

func TestCluster_givesUnitsAccessToKafka(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
	c.Kafka = kafka()
	golden(t, "kafka-units.yaml", c.Units())
}

func TestCluster_tellsGatewaysOfKafkaAsTheyReadIt(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
	c.Kafka = kafka()
	env := map[string]string{}
	for _, container := range c.Units().Spec.Template.Spec.Containers {
		for _, v := range container.Env {
			env[v.Name] = v.Value
		}
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	const kafkaDir, connectDir = "/etc/freshet/kafka/", "/etc/freshet/connect/"
	want := debezium.Transport{
		Kafka: access.Config{
			Brokers: []string{"k-0:9093", "k-1:9093"},
			TLS:     &access.TLS{CAFile: kafkaDir + "ca.crt", CertFile: kafkaDir + "tls.crt", KeyFile: kafkaDir + "tls.key"},
			SASL:    &access.SASL{Mechanism: access.SCRAM512, User: "unit", Password: access.Secret{File: kafkaDir + "password"}},
		},
		Connect: debezium.REST{
			URL: "https://connect:8443", TLS: &access.TLS{CAFile: connectDir + "ca.crt"}, User: "clerk", Password: access.Secret{File: connectDir + "password"},
		},
	}
	got := debezium.Transport{Kafka: access.FromEnvironment("FRESHET_KAFKA_", lookup), Connect: debezium.RESTFromEnvironment("FRESHET_CONNECT_", lookup)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCluster_buildsItsKafka(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
	spec := &v1alpha1.StrimziSpec{
		Replicas: 3, Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("20Gi"), StorageClassName: ptr.To("fast")}, Resources: resources("1", "2Gi"),
		Connect: &v1alpha1.StrimziConnectSpec{PluginImage: "debezium:3.7", Replicas: 2, Resources: resources("500m", "1Gi")},
	}
	c.Spec.CDC = v1alpha1.CDCSpec{Transport: v1alpha1.TransportKafka, Kafka: &v1alpha1.KafkaSpec{Provider: v1alpha1.KafkaStrimzi, Strimzi: spec}}
	const database = "host=db.example port=6432 user=units password='s3 cret' dbname=app sslmode=verify-full"
	password, err := c.StrimziDatabase(database)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(password.Data["password"]); got != "s3 cret" {
		t.Errorf("Kafka Connect reads the database by password %q", got)
	}
	objects := []client.Object{c.StrimziKafka(), c.StrimziPool(), c.StrimziConnect(), c.ConnectPolicy()}
	for _, o := range slices.Concat(c.StrimziTopics(), c.StrimziUsers()) {
		objects = append(objects, o)
	}
	for number, running := range []bool{true, false} {
		connector, err := c.StrimziConnector(int32(number), database, running)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, connector)
	}
	golden(t, "strimzi.yaml", objects...)
}

func TestStrimziConnector_isNotMadeOfWhatIsNoConnectionString(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
	_, err := c.StrimziConnector(0, "postgresql://u:s3cret@db:port/app", true)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
	if _, err := c.StrimziDatabase("postgresql://u:s3cret@db:port/app"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

func TestUnitNumber_readsOnlyNamesOfUnits(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal}).HTAPCluster
	for name, want := range map[string]int{"shop-unit-0": 0, "shop-unit-12": 12, "shop-unit-x": -1, "shop-oltp-0": -1, "12": -1} {
		got, ok := manifest.UnitNumber(c, name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s is unit %d, want %d", name, got, want)
		}
	}
}

func TestCluster_buildsASmallKafka(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal})
	spec := &v1alpha1.StrimziSpec{Replicas: 1, Resources: resources("1", "2Gi"), Connect: &v1alpha1.StrimziConnectSpec{Image: "kafka-debezium:1", Replicas: 1}}
	c.Spec.CDC.Kafka = &v1alpha1.KafkaSpec{Provider: v1alpha1.KafkaStrimzi, Strimzi: spec}
	config, _, err := unstructured.NestedMap(c.StrimziKafka().Object, "spec", "kafka", "config")
	if err != nil || config["default.replication.factor"] != int64(1) || config["min.insync.replicas"] != int64(1) {
		t.Errorf("one node has configuration %v, error %v", config, err)
	}
	connect := c.StrimziConnect().Object["spec"].(map[string]any)
	if connect["image"] != "kafka-debezium:1" || connect["plugins"] != nil {
		t.Errorf("Kafka Connect has image %v and plugins %v", connect["image"], connect["plugins"])
	}
}

func cockroach() manifest.Cluster {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EngineCockroachDB, CockroachDB: &v1alpha1.CockroachDBSpec{
		Image: "cockroach:v26.1", Replicas: 5, Database: "app", Resources: resources("2", "8Gi"), Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("100Gi")},
	}})
	c.Spec.CDC = v1alpha1.CDCSpec{Transport: v1alpha1.TransportKafka, Kafka: &v1alpha1.KafkaSpec{Provider: v1alpha1.KafkaStrimzi, Strimzi: &v1alpha1.StrimziSpec{Replicas: 1}}}
	c.OLTPPods = 5
	return c
}

func TestCluster_buildsItsCockroachDB(t *testing.T) {
	c := cockroach()
	pem := []byte("PEM")
	golden(t, "cockroachdb.yaml", c.CockroachAuthority(pem, pem), c.CockroachNodes(pem, pem, pem), c.CockroachRoot(pem, pem, pem),
		c.CockroachConnection("secret", pem), c.CockroachService(), c.NodesService(), c.CockroachPolicy(), c.CockroachDisruption(), c.CockroachDB(), c.CockroachInit(), c.Decommission([]int{4, 5}), c.Recommission([]int{4}))
}

func TestCluster_losesVolumesOnlyOfNodesThatAreDecommissioned(t *testing.T) {
	for name, step := range map[string]struct {
		pods, leaving int32
		scaled        appsv1.PersistentVolumeClaimRetentionPolicyType
	}{
		"steady":         {5, 0, appsv1.RetainPersistentVolumeClaimRetentionPolicyType},
		"decommissions":  {5, 3, appsv1.RetainPersistentVolumeClaimRetentionPolicyType},
		"decommissioned": {3, 3, appsv1.DeletePersistentVolumeClaimRetentionPolicyType},
	} {
		c := cockroach()
		c.OLTPPods, c.OLTPLeaving = step.pods, step.leaving
		set := c.CockroachDB()
		if got := set.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled; got != step.scaled {
			t.Errorf("%s: volumes of pods that go: %s, want %s", name, got, step.scaled)
		}
		read := manifest.Cluster{}
		if err := read.ReadSize(set); err != nil || read.OLTPPods != step.pods || read.OLTPLeaving != step.leaving {
			t.Errorf("%s: read %d pods that go from %d on, error %v", name, read.OLTPPods, read.OLTPLeaving, err)
		}
		set.Annotations = map[string]string{"freshet.io/leaving-from": "0"}
		if err := read.ReadSize(set); err == nil {
			t.Errorf("%s: an annotation that lets all nodes go is taken", name)
		}
	}
}

func TestCockroachNumber_isThatOfTheNodesPod(t *testing.T) {
	c := cockroach().HTAPCluster
	for address, want := range map[string]int32{
		"shop-oltp-0.shop-oltp-nodes.trade.svc:26257": 0, "shop-oltp-12.shop-oltp-nodes.trade.svc:26257": 12,
		"shop-oltp-1.shop-oltp-nodes.other.svc:26257": -1, "shop-oltp-x.shop-oltp-nodes.trade.svc:26257": -1, "10.0.0.1:26257": -1, "": -1,
	} {
		got, ok := manifest.CockroachNumber(c, address)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is pod %d, want %d", address, got, want)
		}
	}
}

func TestCluster_givesUnitsAChangefeed(t *testing.T) {
	c := cockroach()
	key := kafka()
	key.ConnectURL, key.Connect = "", manifest.Access{}
	c.Kafka = key
	var got []string
	container := c.Units().Spec.Template.Spec.Containers[0]
	for _, v := range container.Env {
		if strings.HasPrefix(v.Name, "FRESHET_KAFKA_PREFIX") || strings.HasPrefix(v.Name, "FRESHET_SOURCE") || strings.Contains(v.Name, "CHANGEFEED") {
			got = append(got, v.Name+"="+v.Value)
		}
	}
	want := []string{
		"FRESHET_KAFKA_PREFIX=freshet_0a1b2c3d_$(FRESHET_UNIT).", "FRESHET_SOURCE=cockroachdb", "FRESHET_CHANGEFEED_SINK_FILE=/etc/freshet/sink/sink",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	mounted := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/freshet/sink" })
	if users := c.StrimziUsers(); !mounted || len(users) != 1 {
		t.Errorf("the sink is mounted: %v; there are %d accounts, want the units' only", mounted, len(users))
	}
}

func TestSink_isAnAddressThatChangefeedsTake(t *testing.T) {
	secured := access.Config{
		Brokers: []string{"k-0:9093", "k-1:9093"}, TLS: &access.TLS{CA: "PEM", Cert: "C", Key: "K"},
		SASL: &access.SASL{Mechanism: access.SCRAM512, User: "unit", Password: access.Secret{Value: "a&b"}},
	}
	for want, k := range map[string]access.Config{
		"kafka://k:9092": {Brokers: []string{"k:9092"}},
		"kafka://k-0:9093,k-1:9093?ca_cert=UEVN&client_cert=Qw%3D%3D&client_key=Sw%3D%3D&sasl_enabled=true&sasl_mechanism=SCRAM-SHA-512" +
			"&sasl_password=a%26b&sasl_user=unit&tls_enabled=true": secured,
	} {
		if got := string(cockroach().Sink(k).Data["sink"]); got != want {
			t.Errorf("the sink is %s, want %s", got, want)
		}
		if _, err := (cockroachdb.Statements{Sink: want, Prefix: "p."}).Create([]cockroachdb.TableName{{Database: "app", Schema: "public", Table: "t"}}, cdc.Position{Major: 1}); err != nil {
			t.Error(err)
		}
	}
}

func TestCluster_letsConnectReachItsDatabase(t *testing.T) {
	c := shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{Database: "app"}})
	workers := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "streams"}}}
	for name, step := range map[string]struct {
		kafka *v1alpha1.KafkaSpec
		want  []networkingv1.NetworkPolicyPeer
	}{
		"direct":          {nil, nil},
		"unknown workers": {&v1alpha1.KafkaSpec{Connect: &v1alpha1.ConnectSpec{}}, []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}},
		"Strimzi's workers": {&v1alpha1.KafkaSpec{Strimzi: &v1alpha1.StrimziSpec{}}, []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"strimzi.io/cluster": "shop", "strimzi.io/kind": "KafkaConnect"},
		}}}},
		"workers elsewhere": {&v1alpha1.KafkaSpec{Connect: &v1alpha1.ConnectSpec{From: []networkingv1.NetworkPolicyPeer{workers}}}, []networkingv1.NetworkPolicyPeer{workers}},
	} {
		c.Spec.CDC.Kafka = step.kafka
		from := c.OLTPPolicy().Spec.Ingress[0].From
		if diff := cmp.Diff(step.want, from[2:], cmpopts.EquateEmpty()); diff != "" { // after units and operator
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// golden compares objects with a file in testdata.
func golden(t *testing.T, file string, objects ...client.Object) {
	t.Helper()
	var documents []string
	for _, o := range objects {
		gvk, err := apiutil.GVKForObject(o, scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		o.GetObjectKind().SetGroupVersionKind(gvk)
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		delete(fields, "status")
		text, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	got, path := strings.Join(documents, "---\n"), filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update accepts it):\n%s", path, diff)
	}
}
