//go:build kubernetes

package manager

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cluster"
)

// monitoringObjects returns the chart's objects of the Prometheus Operator.
func monitoringObjects(t *testing.T, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := renderChart(t.Context(), values...)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		if o.GroupVersionKind().Group == "monitoring.coreos.com" {
			found[o.GetKind()+" "+o.GetName()] = o
		}
	}
	return found
}

func TestChart_monitorsWhereThereIsAPrometheusOperator(t *testing.T) {
	if found := monitoringObjects(t); len(found) > 0 {
		t.Errorf("without its CRDs: %v", found)
	}
	if found := monitoringObjects(t, withPrometheusOperator, "monitoring.enabled=false"); len(found) > 0 {
		t.Errorf("although it is off: %v", found)
	}
	found := monitoringObjects(t, withPrometheusOperator, "monitoring.labels.release=prometheus")
	want := []string{"PodMonitor freshet-operator", "PodMonitor freshet-units", "PrometheusRule freshet-operator"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Fatalf("objects are %v, want %v", got, want)
	}
	for name, o := range found {
		if o.GetLabels()["release"] != "prometheus" {
			t.Errorf("%s has labels %v", name, o.GetLabels())
		}
	}
	if groups, _, err := unstructured.NestedSlice(found["PrometheusRule freshet-operator"].Object, "spec", "groups"); err != nil || len(groups) != 1 {
		t.Errorf("rules: %v, %v", groups, err)
	}
}

// metricName finds the names of metrics in an expression, and selected those with the labels that are asked for.
var (
	metricName = regexp.MustCompile(`\b(?:freshet|controller_runtime)_[a-z_]+`)
	selected   = regexp.MustCompile(`\b((?:freshet|controller_runtime)_[a-z_]+)\{([^}]*)\}`)
	labelIs    = regexp.MustCompile(`\w+="[^"]*"`)
)

func TestAlerts_nameMetricsThatExist(t *testing.T) {
	w := newWorld(t)
	c, _ := external(1)
	w.create(c) // its connection Secret is not there
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "SecretNotFound")
	exist := gatewayMetrics(t)
	for name := range operatorMetrics(t, w) {
		exist[name] = true
	}
	used := 0
	for _, a := range alerts(t) {
		for _, name := range metricName.FindAllString(a["expr"], -1) {
			used++
			if !exist[name] {
				t.Errorf("alert %s is about %s, which no program tells", a["alert"], name)
			}
		}
		for _, s := range selected.FindAllStringSubmatch(a["expr"], -1) {
			for _, label := range labelIs.FindAllString(s[2], -1) {
				if !exist[s[1]+" "+label] {
					t.Errorf("alert %s is about %s with %s, which no program tells", a["alert"], s[1], label)
				}
			}
		}
	}
	if used < 7 {
		t.Errorf("found %d metrics in alerts: is the test blind?", used)
	}
}

// The source of a unit's changes may be another than PostgreSQL's own stream, and tell metrics of its own.
func TestAlerts_tellOfStoppedTablesOfAnySource(t *testing.T) {
	for _, a := range alerts(t) {
		if names := metricName.FindAllString(a["expr"], -1); a["alert"] == "FreshetTablesStopped" && !slices.Equal(names, []string{"freshet_replica_tables"}) {
			t.Errorf("alert %s is about %v", a["alert"], names)
		}
	}
}

func TestAlerts_linkSectionsOfTheRunbook(t *testing.T) {
	runbook, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(runbook), -1) {
		sections[strings.ToLower(m[1])] = true
	}
	for _, a := range alerts(t) {
		page, section, _ := strings.Cut(a["runbook"], "#")
		if !strings.HasSuffix(page, "/docs/runbook.md") {
			t.Errorf("alert %s links %q", a["alert"], a["runbook"])
		}
		if !sections[section] {
			t.Errorf("alert %s links section %q, which is not there", a["alert"], section)
		}
	}
}

// alerts returns name, expression and runbook of each.
func alerts(t *testing.T) []map[string]string {
	t.Helper()
	rule := monitoringObjects(t, withPrometheusOperator)["PrometheusRule freshet-operator"]
	var out []map[string]string
	groups, _, err := unstructured.NestedSlice(rule.Object, "spec", "groups")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			rule := r.(map[string]any)
			annotations := rule["annotations"].(map[string]any)
			out = append(out, map[string]string{
				"alert": rule["alert"].(string), "expr": rule["expr"].(string), "runbook": annotations["runbook_url"].(string),
			})
		}
	}
	return out
}

// operatorMetrics returns the names of what an operator tells that has looked at a cluster, each also with each of its labels: name label="value".
func operatorMetrics(t *testing.T, w *world) map[string]bool {
	t.Helper()
	elected := make(chan struct{})
	close(elected)
	own := prometheus.NewRegistry()
	own.MustRegister(cluster.NewConditions(w.Client, elected))
	families, err := prometheus.Gatherers{ctrlmetrics.Registry, own}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				names[fmt.Sprintf("%s %s=%q", f.GetName(), l.GetName(), l.GetValue())] = true
			}
		}
	}
	return names
}

// gatewayMetrics returns the names of what a real gateway tells, as operatorMetrics does.
func gatewayMetrics(t *testing.T) map[string]bool {
	t.Helper()
	oltp, engine := stand.Postgres(t), stand.Engine(t)
	stand.ExecAt(t, oltp.URL("postgres"), "CREATE TABLE a (id int PRIMARY KEY)")
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan server.Info, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, server.Config{
			Listen: "127.0.0.1:0", MonitorListen: "127.0.0.1:0", PostgresURL: oltp.URL("postgres"),
			EngineAddr: engine.TCPAddr(), EngineUser: engine.User, EnginePassword: engine.Password,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}, func(i server.Info) { ready <- i })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("gateway ended with %v", err)
		}
	})
	var info server.Info
	select {
	case info = <-ready:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	w := &world{t: t}
	w.eventually(func() error {
		if s := info.Status(); !s.Ready || len(s.Tables) != 1 {
			return fmt.Errorf("status is %+v", s)
		}
		return nil
	})
	response, err := http.Get("http://" + info.MonitorAddr.String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range bytes.Lines(text) {
		series, _, _ := strings.Cut(string(line), " ")
		name, labels, _ := strings.Cut(series, "{")
		names[name] = true
		for label := range strings.SplitSeq(strings.TrimSuffix(labels, "}"), ",") {
			names[name+" "+label] = true
		}
	}
	return names
}
