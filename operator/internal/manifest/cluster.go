package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// Labels of all objects of a cluster. ComponentLabel is oltp, admin, unit or pipeline.
const (
	ClusterLabel   = "freshet.io/cluster"
	ComponentLabel = "freshet.io/component"
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "freshet-operator"
)

// The components of a cluster.
const (
	componentOLTP     = "oltp"
	componentAdmin    = "admin" // Jobs that administer the database
	componentUnit     = "unit"
	componentPipeline = "pipeline"
)

// inputs is the annotation of pods by which a change of what they read at their start replaces them.
const inputs = "freshet.io/inputs"

// InputsOf reads of a StatefulSet what its template says of the pods' inputs; empty: nothing.
func InputsOf(set *appsv1.StatefulSet) string { return set.Spec.Template.Annotations[inputs] }

// Ports of pods and services.
const (
	SQLPort     = 5432
	MonitorPort = 8080
	enginePort  = 9000
)

// Images are what is run where the spec names no other.
type Images struct{ Gateway, Engine, PostgreSQL string }

// Cluster builds the objects of one HTAPCluster, whose defaults are filled in.
type Cluster struct {
	*v1alpha1.HTAPCluster
	Images Images
	// OLTPPool and UnitPool are the node pools that the spec refers to; nil: none.
	OLTPPool, UnitPool *v1alpha1.HTAPNodePool
	// OLTPPods is the number of pods of a CockroachDB. From number OLTPLeaving on its nodes go; 0: none.
	OLTPPods, OLTPLeaving int32
	// SoleRole says that the builtin PostgreSQL's volume was made when applications and units used its superuser.
	SoleRole bool
	// ConnectionSecret and CertificateSecret are the names of the Secrets with the database's connection string and the endpoint's
	// certificate; HasCA says that the former has a ca.crt.
	ConnectionSecret, CertificateSecret string
	HasCA                               bool
	// Kafka is how units reach it; nil: changes come straight from the database.
	Kafka *Kafka
	// Inputs is a digest of what pods of units read at their start beside their own spec, OLTPInputs that for pods of the database.
	Inputs, OLTPInputs string
}

// SlotPrefix begins the names of the slots and publications of a cluster's units; a unit's number ends them. It holds a part of the UID, for
// clusters of the same name may share a database.
func SlotPrefix(c *v1alpha1.HTAPCluster) string {
	return "freshet_" + strings.ReplaceAll(string(c.UID), "-", "")[:8] + "_"
}

// OLTPName names what belongs to the builtin database.
func OLTPName(c *v1alpha1.HTAPCluster) string { return c.Name + "-oltp" }

// UnitsName names what belongs to the units.
func UnitsName(c *v1alpha1.HTAPCluster) string { return c.Name + "-unit" }

// EngineName names the engine's configuration, and the Secret with its password.
func EngineName(c *v1alpha1.HTAPCluster) string { return c.Name + "-engine" }

// CAName names the Secret with the cluster's own authority.
func CAName(c *v1alpha1.HTAPCluster) string { return c.Name + "-ca" }

// TLSName names the Secret with the certificate that the operator issues for the endpoint.
func TLSName(c *v1alpha1.HTAPCluster) string { return c.Name + "-tls" }

// OLTPTLSName names the Secret with the builtin PostgreSQL's certificate.
func OLTPTLSName(c *v1alpha1.HTAPCluster) string { return c.Name + "-oltp-tls" }

// OLTPHosts are the names by which the builtin PostgreSQL is reached, the one in the connection Secret first.
func OLTPHosts(c *v1alpha1.HTAPCluster) []string {
	name := OLTPName(c)
	return []string{name + "." + c.Namespace + ".svc", name, name + "." + c.Namespace, name + "." + c.Namespace + ".svc.cluster.local"}
}

// UnitName is the name of a unit's pod.
func UnitName(c *v1alpha1.HTAPCluster, number int32) string {
	return fmt.Sprintf("%s-%d", UnitsName(c), number)
}

// UnitNumber is the number of the unit of a name, if it is one.
func UnitNumber(c *v1alpha1.HTAPCluster, name string) (number int, ok bool) {
	digits, ok := strings.CutPrefix(name, UnitsName(c)+"-")
	number, err := strconv.Atoi(digits)
	return number, ok && err == nil
}

// Hosts are the names by which clients reach the endpoint, the shortest first.
func Hosts(c *v1alpha1.HTAPCluster) []string {
	return []string{c.Name, c.Name + "." + c.Namespace, c.Name + "." + c.Namespace + ".svc", c.Name + "." + c.Namespace + ".svc.cluster.local"}
}

// Endpoint is host:port of the SQL endpoint.
func Endpoint(c *v1alpha1.HTAPCluster) string { return fmt.Sprintf("%s:%d", Hosts(c)[2], SQLPort) }

// Selector finds the pods of the units.
func Selector(c *v1alpha1.HTAPCluster) map[string]string { return selector(c, componentUnit) }

// Digest is a short digest of the contents of Secrets and ConfigMaps.
func Digest(contents ...map[string][]byte) string {
	h := sha256.New()
	for _, content := range contents {
		for _, key := range slices.Sorted(maps.Keys(content)) {
			fmt.Fprintf(h, "%q=%q;", key, content[key])
		}
		fmt.Fprint(h, "|")
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func selector(c *v1alpha1.HTAPCluster, component string) map[string]string {
	return map[string]string{ClusterLabel: c.Name, ComponentLabel: component}
}

func labels(c *v1alpha1.HTAPCluster, component string) map[string]string {
	l := selector(c, component)
	l["app.kubernetes.io/name"], l["app.kubernetes.io/instance"], l[ManagedByLabel] = "freshet", c.Name, ManagedBy
	return l
}

func meta(c *v1alpha1.HTAPCluster, component, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels(c, component)}
}
