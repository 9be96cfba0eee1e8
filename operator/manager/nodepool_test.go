//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// node plays a kubelet that offers resources: name=amount.
func (w *world) node(name string, labels map[string]string, offers ...string) *corev1.Node {
	w.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if err := w.Create(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.Delete(w.t.Context(), n) })
	n.Spec.Taints = nil // of a node that is not ready yet
	if err := w.Update(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
	n.Status.Allocatable = corev1.ResourceList{}
	for _, o := range offers {
		what, amount, _ := strings.Cut(o, "=")
		n.Status.Allocatable[corev1.ResourceName(what)] = resource.MustParse(amount)
	}
	n.Status.Capacity, n.Status.NodeInfo.Architecture = n.Status.Allocatable, "amd64"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	if err := w.Status().Update(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// pool waits for the conditions of a pool: status and reason.
func (w *world) pool(name, ready, equipped string) *v1alpha1.HTAPNodePool {
	w.t.Helper()
	var p v1alpha1.HTAPNodePool
	w.eventually(func() error {
		if err := w.Get(w.t.Context(), client.ObjectKey{Name: name}, &p); err != nil {
			return err
		}
		for condition, want := range map[string]string{v1alpha1.ConditionReady: ready, v1alpha1.ConditionEquipped: equipped} {
			have := meta.FindStatusCondition(p.Status.Conditions, condition)
			if have == nil || string(have.Status)+" "+have.Reason != want || have.ObservedGeneration != p.Generation {
				return fmt.Errorf("%s is %+v, want %s", condition, have, want)
			}
		}
		return nil
	})
	return &p
}

// installTopologies installs the kind that says how nodes are made up, as others do.
func installTopologies(t *testing.T) {
	t.Helper()
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "noderesourcetopologies", Singular: "noderesourcetopology", Kind: "NodeResourceTopology", ListKind: "NodeResourceTopologyList"}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "noderesourcetopologies.topology.node.k8s.io", Annotations: map[string]string{
		"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1870",
	}}}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{Group: "topology.node.k8s.io", Names: names, Scope: apiextensionsv1.ClusterScoped}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha2", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
	}}}
	if _, err := envtest.InstallCRDs(apiServer, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}
}

func TestNodePool_saysWhatItsNodesOfferAndLack(t *testing.T) {
	w := newWorld(t)
	olap := func(more ...string) map[string]string {
		labels := map[string]string{"pool": w.namespace, corev1.LabelTopologyZone: "z1"}
		for _, l := range more {
			labels[l] = "true"
		}
		return labels
	}
	p := &v1alpha1.HTAPNodePool{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	p.Spec.NodeSelector = map[string]string{"pool": w.namespace}
	p.Spec.HugePages = &v1alpha1.HugePagesSpec{Amount: resource.MustParse("2Gi")}
	p.Spec.RDMA = &v1alpha1.RDMASpec{ResourceName: "rdma/hca"}
	if err := w.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(t.Context(), p) })
	w.pool(p.Name, "False NoNodes", "Unknown NoNodes")
	w.node(p.Name+"-b", olap("feature.node.kubernetes.io/memory-numa", "feature.node.kubernetes.io/custom-rdma.capable"), "cpu=8", "memory=30Gi", "hugepages-2Mi=0")
	w.pool(p.Name, "False HugePagesMissing", "False HugePagesMissing")
	w.node(p.Name+"-a", olap(), "cpu=32", "memory=120Gi", "hugepages-2Mi=4Gi", "rdma/hca=8", "nvidia.com/gpu=1")
	got := w.pool(p.Name, "True NodesReady", "False HugePagesMissing")
	quantity := resource.MustParse
	want := []v1alpha1.NodeStatus{
		{Name: p.Name + "-a", Takes: true, Architecture: "amd64", Zone: "z1", NUMA: "unknown", Allocatable: v1alpha1.NodeResources{
			CPU: quantity("32"), Memory: quantity("120Gi"), HugePages: map[string]resource.Quantity{"2Mi": quantity("4Gi")}, RDMA: map[string]resource.Quantity{"rdma/hca": quantity("8")},
		}},
		{Name: p.Name + "-b", Message: "offers 0 of hugepages-2Mi, and each pod gets 2Gi", Architecture: "amd64", Zone: "z1", NUMA: "several", Allocatable: v1alpha1.NodeResources{
			CPU: quantity("8"), Memory: quantity("30Gi"), HugePages: map[string]resource.Quantity{"2Mi": quantity("0")},
		}},
	}
	if diff := cmp.Diff(want, got.Status.Nodes); diff != "" || got.Status.Ready != "1/2" {
		t.Errorf("%s nodes (-want +got):\n%s", got.Status.Ready, diff)
	}
	w.tellTopology(p.Name + "-a")
	w.keepsStill(p.Name + "-a")
}

// tellTopology installs the kind that says how nodes are made up, says it of one, and waits until its pool has it.
func (w *world) tellTopology(node string) {
	w.t.Helper()
	installTopologies(w.t)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": map[string]any{"name": node},
		"attributes": []any{map[string]any{"name": "topologyManagerPolicy", "value": "single-numa-node"}},
		"zones": []any{
			map[string]any{"name": "node-0", "type": "Node", "resources": []any{
				map[string]any{"name": "cpu", "capacity": "16", "allocatable": int64(15), "available": "3"},
				map[string]any{"name": "rdma/hca", "capacity": "8", "allocatable": "8", "available": "1"},
			}},
			map[string]any{"name": "node-1", "type": "Node"},
		},
	}}
	if err := w.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.Delete(w.t.Context(), o) })
	want := []v1alpha1.NUMANodeStatus{
		{Name: "node-0", Allocatable: v1alpha1.NodeResources{CPU: resource.MustParse("15"), RDMA: map[string]resource.Quantity{"rdma/hca": resource.MustParse("8")}}},
		{Name: "node-1"},
	}
	w.eventually(func() error {
		w.wakeNode(node)
		var p v1alpha1.HTAPNodePool
		if err := w.Get(w.t.Context(), client.ObjectKey{Name: w.namespace}, &p); err != nil {
			return err
		}
		n := p.Status.Nodes[0]
		if diff := cmp.Diff(want, n.NUMANodes); diff != "" || n.NUMA != "2" || n.TopologyPolicy != "single-numa-node" {
			return fmt.Errorf("NUMA %s, policy %s (-want +got):\n%s", n.NUMA, n.TopologyPolicy, diff)
		}
		return nil
	})
}

// wakeNode changes a node, which makes the operator look at its pool.
func (w *world) wakeNode(name string) {
	w.t.Helper()
	var n corev1.Node
	if err := w.Get(w.t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
		w.t.Fatal(err)
	}
	before := n.DeepCopy()
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, "test", n.ResourceVersion)
	if err := w.Patch(w.t.Context(), &n, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// keepsStill requires that looks at an unchanged pool write nothing. A node that a second pool has is what says that the operator has looked.
func (w *world) keepsStill(node string) {
	w.t.Helper()
	look := func(round int) {
		last := &v1alpha1.HTAPNodePool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.namespace, round)}}
		last.Spec.NodeSelector = map[string]string{"pool": w.namespace}
		if err := w.Create(w.t.Context(), last); err != nil {
			w.t.Fatal(err)
		}
		w.wakeNode(node)
		w.pool(last.Name, "True NodesReady", "True NothingAsked")
		if err := w.Delete(w.t.Context(), last); err != nil {
			w.t.Fatal(err)
		}
	}
	look(0) // the operator's cache has its own last write before it has a pool made after that, and may write the same twice until then
	w.writes.take()
	for round := range 3 {
		look(round + 1)
	}
	for _, write := range w.writes.take() {
		if strings.HasSuffix(write, "/htapnodepools/"+w.namespace+"/status") {
			w.t.Errorf("nothing changed, and the operator wrote %s", write)
		}
	}
}

func TestCluster_getsWhatItsNodePoolsGive(t *testing.T) {
	w := newWorld(t)
	p := &v1alpha1.HTAPNodePool{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	p.Spec.NodeSelector, p.Spec.CPUPinning = map[string]string{"pool": w.namespace}, true
	p.Spec.HugePages = &v1alpha1.HugePagesSpec{Size: "1Gi", Amount: resource.MustParse("2Gi")}
	p.Spec.RDMA = &v1alpha1.RDMASpec{ResourceName: "rdma/hca", Count: 2}
	if err := w.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(t.Context(), p) })
	ref := &v1alpha1.NodePoolReference{Name: p.Name}
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{NodePoolRef: ref}}
	c.Spec.OLTP.PostgreSQL.Resources = v1alpha1.ResourcesSpec{CPU: resource.MustParse("1500m"), Memory: resource.MustParse("2Gi")}
	c.Spec.Columnar.NodePoolRef = ref
	c.Spec.Gateway.Resources = v1alpha1.ResourcesSpec{CPU: resource.MustParse("500m"), Memory: resource.MustParse("1Gi")}
	w.create(c)
	for _, step := range []struct {
		condition, field string
		cpu              *resource.Quantity
	}{
		{v1alpha1.ConditionPipelineReady, "gateway.resources.cpu is 500m", &c.Spec.Gateway.Resources.CPU},
		{v1alpha1.ConditionOLTPReady, "oltp.postgresql.resources.cpu is 1500m", &c.Spec.OLTP.PostgreSQL.Resources.CPU},
	} {
		got := w.awaitCondition(step.condition, metav1.ConditionFalse, "CPUNotWhole")
		if m := meta.FindStatusCondition(got.Status.Conditions, step.condition).Message; !strings.Contains(m, step.field) || !strings.Contains(m, "give whole CPUs") {
			t.Errorf("%s says %q, want %q", step.condition, m, step.field)
		}
		before := client.MergeFrom(got.DeepCopy())
		*step.cpu = resource.MustParse("2")
		got.Spec.Gateway, got.Spec.OLTP = c.Spec.Gateway, c.Spec.OLTP
		if err := w.Patch(t.Context(), got, before); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting")
	var database appsv1.StatefulSet
	if err := w.get("shop-oltp", &database); err != nil {
		t.Fatal(err)
	}
	w.equipped(w.run("shop-oltp-0", database.Spec.Template, "10.0.3.1").Spec.Containers[0])
	database.Status.Replicas, database.Status.ReadyReplicas = 1, 1
	if err := w.Status().Update(t.Context(), &database); err != nil {
		t.Fatal(err)
	}
	w.startUnits(fresh)
	var unit corev1.Pod
	if err := w.get("shop-unit-0", &unit); err != nil {
		t.Fatal(err)
	}
	w.equipped(unit.Spec.InitContainers[0])
	if unit.Status.QOSClass != corev1.PodQOSGuaranteed {
		t.Errorf("the unit's pod is of class %s", unit.Status.QOSClass)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

// equipped requires of a container what the pool of the test gives.
func (w *world) equipped(c corev1.Container) {
	w.t.Helper()
	for name, want := range map[corev1.ResourceName]string{"hugepages-1Gi": "2Gi", "rdma/hca": "2"} {
		for _, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
			if got := list[name]; got.Cmp(resource.MustParse(want)) != 0 {
				w.t.Errorf("container %s gets %s of %s, want %s", c.Name, got.String(), name, want)
			}
		}
	}
	if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil || len(c.SecurityContext.Capabilities.Add) > 0 {
		w.t.Error(errors.New("the container has capabilities that the Pod Security Standard forbids"))
	}
}
