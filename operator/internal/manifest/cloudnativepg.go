package manifest

import (
	"cmp"
	"maps"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// cloudNativePGVersion is the API of CloudNativePG's objects.
var cloudNativePGVersion = schema.GroupVersion{Group: "postgresql.cnpg.io", Version: "v1"}

// cloudNativePGCluster is CloudNativePG's label of the pods of one Cluster.
const cloudNativePGCluster = "cnpg.io/cluster"

// HibernationAnnotation lets CloudNativePG end the servers of a Cluster, and keep their volumes, while it is Hibernated.
const (
	HibernationAnnotation = "cnpg.io/hibernation"
	Hibernated            = "on"
	awake                 = "off"
)

// Ports of CloudNativePG's pods beside PostgreSQL's own.
const (
	cloudNativePGStatusPort  = 8000
	cloudNativePGMetricsPort = 9187
)

// cloudNativePGInstances is their number where the spec gives none: with two, no standby would be left after a failover.
const cloudNativePGInstances = 3

// CloudNativePGRole is the role of units and applications, which owns the database and is no superuser.
const CloudNativePGRole = "freshet"

// ByCloudNativePG says that CloudNativePG runs the database.
func ByCloudNativePG(c *v1alpha1.HTAPCluster) bool {
	p := c.Spec.OLTP.PostgreSQL
	return p != nil && p.Provider == v1alpha1.CloudNativePG
}

// PostgreSQLHost is the name by which the primary is reached.
func PostgreSQLHost(c *v1alpha1.HTAPCluster) string {
	if ByCloudNativePG(c) {
		return OLTPName(c) + "-rw." + c.Namespace + ".svc"
	}
	return OLTPHosts(c)[0]
}

// CloudNativePGAuthority is where CloudNativePG keeps the certificate that the servers' are verified by.
func CloudNativePGAuthority(c *v1alpha1.HTAPCluster) SecretKey {
	return SecretKey{Secret: OLTPName(c) + "-ca", Key: caFile}
}

// CloudNativePGCluster is the Cluster by which CloudNativePG runs the database.
func (c Cluster) CloudNativePGCluster() *unstructured.Unstructured {
	spec := c.Spec.OLTP.PostgreSQL
	credentials := func() map[string]any { return map[string]any{"name": OLTPName(c.HTAPCluster)} }
	role := map[string]any{
		"name": CloudNativePGRole, "ensure": "present", "login": true, "replication": true, "passwordSecret": credentials(),
	}
	if len(spec.MemberOf) > 0 {
		role["inRoles"] = texts(spec.MemberOf)
	}
	fields := map[string]any{
		"instances": int64(cmp.Or(spec.Instances, cloudNativePGInstances)),
		"bootstrap": map[string]any{"initdb": map[string]any{
			"database": spec.Database, "owner": CloudNativePGRole, "secret": credentials(), "dataChecksums": true,
			// Texts are compared on the replica only where their collation orders by bytes.
			"encoding": "UTF8", "localeCollate": "C.UTF-8", "localeCType": "C.UTF-8",
			// Gateways check passwords of clients that come by TLS, for which they need the verifiers.
			"postInitApplicationSQL": []any{"GRANT SELECT (rolname, rolpassword) ON pg_catalog.pg_authid TO " + CloudNativePGRole},
		}},
		"managed":    map[string]any{"roles": []any{role}},
		"postgresql": map[string]any{"parameters": cloudNativePGSettings(spec, c.OLTPPool)},
		// Standbys keep copies of the units' slots, and units are told nothing that a standby does not have: they go on after a failover.
		"replicationSlots": map[string]any{"highAvailability": map[string]any{"enabled": true, "synchronizeLogicalDecoding": true}},
		"storage":          cloudNativePGStorage(spec.Storage),
		"resources":        bothResources(spec.Resources, c.OLTPPool),
	}
	if spec.Image != "" {
		fields["imageName"] = spec.Image
	}
	if c.OLTPPool != nil {
		fields["affinity"] = affinity(c.OLTPPool)
	}
	o := c.foreign(cloudNativePGVersion.WithKind("Cluster"), componentOLTP, OLTPName(c.HTAPCluster), fields)
	o.SetAnnotations(map[string]string{HibernationAnnotation: awake}) // as one that was kept is not
	return o
}

// cloudNativePGSettings are the servers' settings beside those that CloudNativePG gives them.
func cloudNativePGSettings(spec *v1alpha1.PostgreSQLSpec, pool *v1alpha1.HTAPNodePool) map[string]any {
	all := map[string]string{slotLimit: slotLimitOf(spec.Storage.Size)} // a change needs no restart
	maps.Copy(all, defaultSettings(spec, pool))
	maps.Copy(all, map[string]string{
		"wal_level": "logical", "max_replication_slots": slots, "max_wal_senders": slots, "sync_replication_slots": "on", "hot_standby_feedback": "on",
	})
	out := map[string]any{}
	for name, value := range all {
		out[name] = value
	}
	return out
}

func cloudNativePGStorage(s v1alpha1.DataStorageSpec) map[string]any {
	storage := map[string]any{"size": s.Size.String()}
	if s.StorageClassName != nil {
		storage["storageClass"] = *s.StorageClassName
	}
	return storage
}

// affinity puts pods on a pool's nodes, as CloudNativePG takes it.
func affinity(pool *v1alpha1.HTAPNodePool) map[string]any {
	selector, tolerations := map[string]any{}, []any{}
	for name, value := range pool.Spec.NodeSelector {
		selector[name] = value
	}
	for _, t := range pool.Spec.Tolerations {
		toleration := map[string]any{}
		for name, value := range map[string]string{"key": t.Key, "operator": string(t.Operator), "value": t.Value, "effect": string(t.Effect)} {
			if value != "" {
				toleration[name] = value
			}
		}
		if t.TolerationSeconds != nil {
			toleration["tolerationSeconds"] = *t.TolerationSeconds
		}
		tolerations = append(tolerations, toleration)
	}
	return map[string]any{"nodeSelector": selector, "tolerations": tolerations}
}

// CloudNativePGPolicy lets units, the operator and Kafka Connect reach the servers, which reach each other and are reached by CloudNativePG's
// operator, in whatever namespace.
func (c Cluster) CloudNativePGPolicy() *networkingv1.NetworkPolicy {
	servers := metav1.LabelSelector{MatchLabels: map[string]string{cloudNativePGCluster: OLTPName(c.HTAPCluster)}}
	keepers := []networkingv1.NetworkPolicyPeer{{PodSelector: &servers}, {
		NamespaceSelector: &metav1.LabelSelector{},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "cloudnative-pg"}},
	}}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: servers,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: append(c.databasePeers(), keepers...), Ports: policyPorts(SQLPort)},
				{From: keepers, Ports: policyPorts(cloudNativePGStatusPort)},
				{Ports: policyPorts(cloudNativePGMetricsPort)},
			},
		},
	}
}
