package cockroachdb

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
)

var update = flag.Bool("update", false, "write golden files")

func TestStatements_areThoseOfTheGoldenFile(t *testing.T) {
	tables := []TableName{{"shop", "public", "orders"}, {"shop", "public", `odd "name`}, {"shop", "public", "lines"}}
	after := cdc.Position{Major: 1763632800123456789, Minor: 2}
	wrapped := Statements{Sink: "kafka://broker:9092?tls_enabled=true", Prefix: "freshet."}
	enriched := Statements{Sink: "external://o'neill", Envelope: "enriched", Resolved: 250_000_000}
	var b strings.Builder
	for _, x := range []struct {
		title string
		make  func() (string, error)
	}{
		{"create", func() (string, error) { return wrapped.Create(tables, after) }},
		{"create, enriched", func() (string, error) { return enriched.Create(tables[:1], after) }},
		{"add tables", func() (string, error) { return wrapped.Alter("1072079179268751361", tables[:2], nil) }},
		{"drop a table", func() (string, error) { return wrapped.Alter("1072079179268751361", nil, tables[2:]) }},
		{"add one and drop one", func() (string, error) { return wrapped.Alter("1072079179268751361", tables[:1], tables[2:]) }},
		{"pause", func() (string, error) { return wrapped.Pause("1072079179268751361") }},
		{"resume", func() (string, error) { return wrapped.Resume("1072079179268751361") }},
		{"drop", func() (string, error) { return wrapped.Drop("1072079179268751361") }},
		{"copy", func() (string, error) {
			return selectAsOf(sampleTables(true)[0].Table, tables[0], after), nil
		}},
	} {
		sql, err := x.make()
		if err != nil {
			t.Fatalf("%s: %v", x.title, err)
		}
		b.WriteString("-- " + x.title + "\n" + sql + ";\n")
	}
	const golden = "testdata/statements.sql"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got), -update writes them:\n%s", diff)
	}
}

func TestStatements_refuseWhatWouldNotWork(t *testing.T) {
	tables := []TableName{{"shop", "public", "orders"}}
	for want, make := range map[string]func() (string, error){
		"no tables":         func() (string, error) { return Statements{Sink: "kafka://b"}.Create(nil, cdc.Position{}) },
		"kafka://host:port": func() (string, error) { return Statements{Sink: "broker"}.Create(tables, cdc.Position{}) },
		"use wrapped": func() (string, error) {
			return Statements{Sink: "kafka://b", Envelope: "bare"}.Create(tables, cdc.Position{})
		},
		"a millisecond": func() (string, error) {
			return Statements{Sink: "kafka://b", Resolved: 1}.Create(tables, cdc.Position{})
		},
		"the ID of a job":     func() (string, error) { return Statements{}.Drop("1; DROP DATABASE shop") },
		"tables to add or dr": func() (string, error) { return Statements{}.Alter("1", nil, nil) },
	} {
		if sql, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, error %v, want one that says %q", sql, err, want)
		}
	}
}

func TestTopic_isNamedAsTheChangefeedDoes(t *testing.T) {
	for want, n := range map[string]TableName{
		"freshet.shop.public.orders":             {"shop", "public", "orders"},
		"freshet.shop.public.a_u0020_b_u00e9_-c": {"shop", "public", "a bé-c"},
	} {
		if got := (Statements{Prefix: "freshet."}).Topic(n); got != want {
			t.Errorf("topic %q, want %q", got, want)
		}
	}
}
