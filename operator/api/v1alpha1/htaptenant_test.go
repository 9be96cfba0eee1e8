package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tenant returns a manifest whose spec is the given lines, after the cluster.
func tenant(spec ...string) string {
	return "apiVersion: freshet.io/v1alpha1\nkind: HTAPTenant\nmetadata: {name: office, namespace: default}\nspec:\n  clusterRef: {name: shop}\n  " +
		strings.Join(spec, "\n  ") + "\n"
}

func TestHTAPTenant_refusesWhatCannotWork(t *testing.T) {
	def := loadCRD(t, "freshet.io_htaptenants.yaml")
	for _, c := range []struct {
		name, manifest string
		want           []string
	}{
		{"users", tenant("users: [alice, 'Bob B.']"), nil},
		{"all there is", tenant("users: [alice]", "shares: 1000", "limits: {concurrency: 1, queue: 1, memory: 1Mi, time: 10ms}", "freshness: {mode: strong}"), nil},
		{"everyone else", tenant(), nil},
		{"everyone else as default", strings.Replace(tenant(), "name: office", "name: default", 1), nil},
		{"default with users", strings.Replace(tenant("users: [alice]"), "name: office", "name: default", 1),
			[]string{`<nil>: Invalid value: metadata.name: default is the tenant of users who are in no other; leave users out, or choose another name`}},
		{"long name", strings.Replace(tenant(), "office", strings.Repeat("o", 64), 1),
			[]string{`<nil>: Invalid value: metadata.name: use at most 63 characters, it is a label of metrics`}},
		{"no cluster", strings.Replace(tenant(), "clusterRef: {name: shop}", "shares: 1", 1), []string{`spec.clusterRef: Required value`}},
		{"a role of the database's own", tenant("users: [pg_monitor]"),
			[]string{`spec.users[0]: Invalid value: "pg_monitor": names that begin with pg_ are the database's own`}},
		{"a user without a name", tenant("users: ['']"),
			[]string{`spec.users[0]: Invalid value: "": spec.users[0] in body should be at least 1 chars long`}},
		{"no shares", tenant("shares: 0"), []string{`spec.shares: Invalid value: 0: spec.shares in body should be greater than or equal to 1`}},
		{"too many shares", tenant("shares: 1001"), []string{`spec.shares: Invalid value: 1001: spec.shares in body should be less than or equal to 1000`}},
		{"negative limits", tenant("limits: {concurrency: -1, queue: -1}"),
			[]string{`spec.limits.concurrency: Invalid value: -1: spec.limits.concurrency in body should be greater than or equal to 0`,
				`spec.limits.queue: Invalid value: -1: spec.limits.queue in body should be greater than or equal to 0`}},
		{"hardly any memory", tenant("limits: {memory: 1Ki}"),
			[]string{`spec.limits.memory: Invalid value: "1Ki": memory: give 1Mi at least, and less than 1Pi`}},
		{"hardly any time", tenant("limits: {time: 1ms}"),
			[]string{`spec.limits.time: Invalid value: "1ms": time: give a duration between 10ms and 24h`}},
		{"unknown mode", tenant("freshness: {mode: sometimes}"),
			[]string{`spec.freshness.mode: Unsupported value: "sometimes": supported values: "bounded", "strong", "eventual"`}},
		{"impossible bound", tenant("freshness: {maxStaleness: 0s}"),
			[]string{`spec.freshness.maxStaleness: Invalid value: "0s": maxStaleness: give a duration between 1ms and 24h`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, def.validate(t, def.object(t, c.manifest), nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHTAPTenant_staysWithItsCluster(t *testing.T) {
	def := loadCRD(t, "freshet.io_htaptenants.yaml")
	before := tenant("users: [alice]")
	for _, c := range []struct {
		name, after string
		want        []string
	}{
		{"users, shares, limits", tenant("users: [bob]", "shares: 7", "limits: {queue: 3}"), nil},
		{"cluster", strings.Replace(before, "name: shop", "name: other", 1),
			[]string{`spec.clusterRef: Invalid value: the cluster cannot be changed: create another HTAPTenant`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, def.validate(t, def.object(t, c.after), def.object(t, before))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
