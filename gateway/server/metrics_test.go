package server_test

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// metrics returns what the gateway's monitoring port tells Prometheus.
func (g *gateway) metrics() string {
	g.t.Helper()
	response, err := http.Get("http://" + g.info.MonitorAddr.String() + "/metrics")
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}

func TestMetrics_areWhatTheDocumentsName(t *testing.T) {
	g := start(t, "CREATE TABLE t (a int PRIMARY KEY, b text)", "INSERT INTO t VALUES (1, 'a')")
	columnar, _ := g.routes()
	if _, err := columnar.Exec(t.Context(), "SELECT count(*) FROM t"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.client().Exec(t.Context(), "SELECT xmlagg(b::xml) FROM t"); err != nil { // which PostgreSQL answers
		t.Fatal(err)
	}
	metrics := g.metrics()
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(freshet_[a-z_]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) == 0 {
		t.Fatal("docs/gateway.md names no metric")
	}
	for _, name := range names {
		if !strings.Contains(metrics, "\n# TYPE "+name[1]+" ") {
			t.Errorf("docs/gateway.md names %s, which the gateway does not tell", name[1])
		}
	}
}
