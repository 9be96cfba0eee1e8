package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// pool returns a manifest with the given fields beside the selector.
func pool(spec ...string) string {
	return "apiVersion: freshet.io/v1alpha1\nkind: HTAPNodePool\nmetadata: {name: olap}\nspec:\n  nodeSelector: {pool: olap}\n  " + strings.Join(spec, "\n  ") + "\n"
}

func TestHTAPNodePool_refusesWhatCannotWork(t *testing.T) {
	def := loadCRD(t, "freshet.io_htapnodepools.yaml")
	const whole = "amount: give one page or more, whole ones, and no fraction: 1536Mi instead of 1.5Gi"
	const noToleration = "spec.tolerations: Invalid value: tolerations: with operator Exists leave value out; with another give key"
	long := strings.Repeat("a", 254) + "/x"
	for _, c := range []struct {
		name, manifest string
		want           []string
	}{
		{"a selector", pool(), nil},
		{"no selector", strings.Replace(pool(), "{pool: olap}", "{}", 1),
			[]string{`spec.nodeSelector: Invalid value: 0: spec.nodeSelector in body should have at least 1 properties`}},
		{"all there is", pool("hugePages: {size: 1Gi, amount: 4Gi}", "rdma: {resourceName: rdma/hca_shared_devices_a, count: 64}", "cpuPinning: true"), nil},
		{"pages of the usual size", pool("hugePages: {amount: 1536Mi}"), nil},
		{"pages by their bytes", pool("hugePages: {amount: 4194304}"), nil},
		{"pages of no size", pool("hugePages: {size: 4Ki, amount: 1Gi}"), []string{`spec.hugePages.size: Unsupported value: "4Ki": supported values: "2Mi", "1Gi"`}},
		{"no pages", pool("hugePages: {amount: 0}"), []string{"spec.hugePages: Invalid value: " + whole}},
		{"less than no pages", pool("hugePages: {amount: -2Mi}"), []string{"spec.hugePages: Invalid value: " + whole}},
		{"a part of a page", pool("hugePages: {amount: 3Mi}"), []string{"spec.hugePages: Invalid value: " + whole}},
		{"a part of a large page", pool("hugePages: {size: 1Gi, amount: 512Mi}"), []string{"spec.hugePages: Invalid value: " + whole}},
		{"a fraction", pool("hugePages: {amount: 1.5Gi}"), []string{"spec.hugePages: Invalid value: " + whole}},
		{"pages without an amount", pool("hugePages: {}"), []string{"spec.hugePages.amount: Required value"}},
		{"a device without a domain", pool("rdma: {resourceName: hca}"), []string{
			`spec.rdma.resourceName: Invalid value: "hca": spec.rdma.resourceName in body should match '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$'`}},
		{"a resource of Kubernetes", pool("rdma: {resourceName: kubernetes.io/batteries}"), []string{
			`spec.rdma.resourceName: Invalid value: "kubernetes.io/batteries": resourceName: names of kubernetes.io are no devices`}},
		{"a long name", pool("rdma: {resourceName: " + long + "}"), []string{
			fmt.Sprintf(`spec.rdma.resourceName: Too long: may not be more than %d bytes`, 253)}},
		{"tolerations", pool("tolerations: [{key: dedicated, value: olap}, {operator: Exists}, {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]"), nil},
		{"a toleration of every key with a value", pool("tolerations: [{value: olap}]"), []string{noToleration}},
		{"a toleration of any value with one", pool("tolerations: [{key: a, operator: Exists, value: olap}]"), []string{noToleration}},
		{"a toleration for a while of what evicts nobody", pool("tolerations: [{key: a, tolerationSeconds: 60}]"), []string{
			`spec.tolerations: Invalid value: tolerations: tolerationSeconds are for effect NoExecute`}},
		{"no device", pool("rdma: {resourceName: rdma/a, count: 0}"), []string{`spec.rdma.count: Invalid value: 0: spec.rdma.count in body should be greater than or equal to 1`}},
		{"too many devices", pool("rdma: {resourceName: rdma/a, count: 65}"), []string{`spec.rdma.count: Invalid value: 65: spec.rdma.count in body should be less than or equal to 64`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, def.validate(t, def.object(t, c.manifest), nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHTAPNodePool_givesEachPodWhatItSays(t *testing.T) {
	def := loadCRD(t, "freshet.io_htapnodepools.yaml")
	for manifest, want := range map[string]map[string]string{
		pool(): {},
		pool("hugePages: {amount: 4Gi}", "rdma: {resourceName: rdma/a}"): {"hugepages-2Mi": "4Gi", "rdma/a": "1"},
		pool("hugePages: {size: 1Gi, amount: 2Gi}"):                      {"hugepages-1Gi": "2Gi"},
	} {
		var p v1alpha1.HTAPNodePool
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(def.object(t, manifest), &p); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for name, amount := range p.Spec.Equipment() {
			got[string(name)] = amount.String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", manifest, diff)
		}
	}
}
