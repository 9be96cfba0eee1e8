package shares

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/freshet-io/freshet/gateway/freshness"
)

const sample = `
tenants:
  - name: reporting
    users: [alice, bob]
    shares: 400
    limits: {concurrency: 2, queue: 50, memory: 2Gi, time: 1m30s}
    freshness: {mode: bounded, maxStaleness: 10s}
  - name: batch
    users: [etl]
    shares: 50
    freshness: {mode: eventual}
  - name: others
`

func TestParse_readsEveryField(t *testing.T) {
	got, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]*Tenant{
		"bob": {
			Name: "reporting", Users: []string{"alice", "bob"}, Shares: 400,
			Limits:    Limits{Concurrency: 2, Queue: 50, Memory: 2 << 30, Time: 90 * time.Second},
			Freshness: &Freshness{MaxStaleness: new(10 * time.Second)},
		},
		"etl":      {Name: "batch", Users: []string{"etl"}, Shares: 50, Freshness: &Freshness{Mode: freshness.Eventual}},
		"stranger": {Name: "others", Shares: DefaultShares},
	} {
		if diff := cmp.Diff(want, got.Of(user)); diff != "" {
			t.Errorf("tenant of %s (-want +got):\n%s", user, diff)
		}
	}
}

func TestParse_readsWhatRenderWrites(t *testing.T) {
	memory := resource.MustParse("512Mi")
	data, err := Render(File{Tenants: []FileTenant{{
		Name: "reporting", Users: []string{"alice"}, Shares: 7,
		Limits:    FileLimits{Concurrency: 1, Queue: 2, Memory: &memory, Time: Duration(time.Second)},
		Freshness: &FileFreshness{Mode: "strong", MaxStaleness: new(Duration(0))},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	want := &Tenant{
		Name: "reporting", Users: []string{"alice"}, Shares: 7, Limits: Limits{Concurrency: 1, Queue: 2, Memory: 512 << 20, Time: time.Second},
		Freshness: &Freshness{Mode: freshness.Strong, MaxStaleness: new(time.Duration(0))},
	}
	if diff := cmp.Diff(want, got.Of("alice")); diff != "" || got.Digest() != Digest(data) {
		t.Errorf("digest %s; (-want +got):\n%s", got.Digest(), diff)
	}
}

func TestParse_refusesWhatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"tenants: [{name: a, users: [x], share: 3}]":                       `unknown field "share"`,
		"tenants: [{users: [x]}]":                                          `tenant "": it has no name`,
		"tenants: [{name: a, users: [x]}, {name: a, users: [y]}]":          `tenant "a": another tenant has that name`,
		"tenants: [{name: a, users: [x]}, {name: b, users: [x]}]":          `tenant "b": user "x" is in tenant "a" already`,
		"tenants: [{name: a}, {name: b}]":                                  `tenant "b": it names no users, and "a" already is`,
		"tenants: [{name: default, users: [x]}]":                           `tenant "default": it is the tenant of users who are in no other`,
		"tenants: [{name: a, users: [x], shares: 1001}]":                   `tenant "a": 1001 shares: give 1 to 1000`,
		"tenants: [{name: a, users: [x], shares: -1}]":                     `tenant "a": -1 shares: give 1 to 1000`,
		"tenants: [{name: a, users: [x], limits: {queue: -1}}]":            `a limit is negative`,
		"tenants: [{name: a, users: [x], limits: {time: 5}}]":              `a duration is needed`,
		"tenants: [{name: a, users: [x], limits: {memory: lots}}]":         `quantities must match`,
		"tenants: [{name: a, users: [x], freshness: {mode: sometimes}}]":   `freshness.mode: "sometimes" is none of bounded, strong, eventual`,
		"tenants: [{name: a, users: [x], freshness: {maxStaleness: -1s}}]": `freshness.maxStaleness is negative`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestWatcher_keepsTheLastGoodFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	d := NewDirectory()
	w := NewWatcher(file, d, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	check := func(tenant, problem string) {
		t.Helper()
		if got := d.Of("alice").Name; got != tenant {
			t.Errorf("alice's tenant is %q, want %q", got, tenant)
		}
		invalid := 0.0
		if problem != "" {
			invalid = 1
		}
		if got := w.Problem(); !strings.Contains(got, problem) || (got == "") != (problem == "") || value(t, w.invalid) != invalid {
			t.Errorf("problem %q, metric %v; want %q", got, value(t, w.invalid), problem)
		}
	}
	check(Everyone, "") // a file that is not there
	for _, step := range []struct{ content, tenant, problem string }{
		{sample, "reporting", ""},
		{"tenants: [{name: a, users: [x], share: 3}]", "reporting", "correct the file"},
		{"tenants: [{name: new, users: [alice]}]", "new", ""},
	} {
		if err := os.WriteFile(file, []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		w.look()
		check(step.tenant, step.problem)
		w.look()
		check(step.tenant, step.problem)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.look()
	check(Everyone, "")
}

func TestMetrics_forgetTenantsThatAreGone(t *testing.T) {
	registry := prometheus.NewRegistry()
	d := NewDirectory()
	d.Set(table(t, three()...))
	s := NewScheduler[int](1, d, time.Now, NewMetrics(registry))
	series := func() int {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "freshet_tenant_cpu_seconds_total" {
				return len(f.Metric)
			}
		}
		return 0
	}
	gold, err := s.Enter("gold", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enter("silver", 2); err != nil {
		t.Fatal(err)
	}
	d.Set(table(t, three()[1:]...))
	s.pick()
	if got := series(); got != 2 {
		t.Errorf("%d tenants are told of while one that is gone has a query, want 2", got)
	}
	gold.Leave()
	if got := series(); got != 1 {
		t.Errorf("%d tenants are told of, want 1", got)
	}
}

func value(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetGauge().GetValue()
}
