package analytics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

func orders() *cdc.Table {
	return &cdc.Table{ID: 42, Schema: "public", Name: "orders", Key: []int{0}, Columns: []cdc.Column{
		{Name: "id", Type: 23, Modifier: -1, Attr: 1},
		{Name: "note", Type: 25, Modifier: -1, Attr: 3},
		{Name: "code", Type: 1043, Domain: 16400, Modifier: 14, Attr: 4},
	}}
}

func TestJudge_relaysWhatPostgreSQLWouldRefuseOrSeeDifferently(t *testing.T) {
	good := []string{"42", "t", "f", "f", "1 23 -1 id\n3 25 -1 note\n4 16400 -1 code", "t"}
	with := func(i int, v string) []string {
		row := append([]string(nil), good...)
		row[i] = v
		return row
	}
	for _, c := range []struct {
		name, want string
		row        []string
	}{
		{"as the replica has it", "", good},
		{"dropped", "was dropped", nil},
		{"no privilege", "privileges", with(1, "f")},
		{"row security", "row-level security", with(2, "t")},
		{"children", "inheritance", with(3, "t")},
		{"renamed column", "definition", with(4, "1 23 -1 id\n3 25 -1 remark\n4 16400 -1 code")},
		{"added column", "definition", with(4, good[4]+"\n5 23 -1 n")},
		{"another domain", "definition", with(4, "1 23 -1 id\n3 25 -1 note\n4 16401 -1 code")},
		{"hidden by the search path", "hidden", with(5, "f")},
		{"a function of the database's own", "lower may mean", []string{"0", "f", "f", "f", "lower", "f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &planned{
				plan: &translate.Plan{
					Relations: []translate.Relation{{Table: orders(), Columns: []int{0}}}, Accesses: []translate.Access{{ID: 42}},
				},
				unqualified: map[cdc.TableID]bool{42: true},
			}
			var rows [][][]byte
			if c.row != nil {
				row := make([][]byte, len(c.row))
				for i, v := range c.row {
					row[i] = []byte(v)
				}
				rows = append(rows, row)
			}
			err := judge(rows, p)
			var relay *pgwire.RelayError
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want no refusal", err)
			case c.want != "" && (!errors.As(err, &relay) || !strings.Contains(relay.Reason, c.want)):
				t.Errorf("got %v, want a RelayError with %q", err, c.want)
			}
		})
	}
}

func TestSameSession_holdsForTheRoleAndTheSearchPathThatAreKnown(t *testing.T) {
	s := &pgwire.SessionInfo{User: "clerk", SearchPath: []string{"pg_catalog", "public"}}
	for _, c := range []struct{ name, role, path, want string }{
		{"as they are known", "clerk", "pg_catalog\x01public", ""},
		{"another role", "reader", "pg_catalog\x01public", `role is "reader"`},
		{"a schema that came into effect", "clerk", "evil\x01pg_catalog\x01public", "search path"},
		{"a schema that was dropped", "clerk", "pg_catalog", "search path"},
	} {
		err := sameSession(s, [][][]byte{{6: []byte(c.role), 7: []byte(c.path)}})
		var relay *pgwire.RelayError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v, want no refusal", c.name, err)
		case c.want != "" && (!errors.As(err, &relay) || !relay.Stale || !strings.Contains(relay.Reason, c.want)):
			t.Errorf("%s: got %v, want a stale RelayError with %q", c.name, err, c.want)
		}
	}
}

func TestCheckBound_isNeverLongerThanTheAllowedStaleness(t *testing.T) {
	settings := func(f freshness.Mode, d time.Duration) pgwire.Settings {
		return pgwire.Settings{Freshness: f, MaxStaleness: d}
	}
	for _, c := range []struct {
		name string
		s    pgwire.SessionInfo
		want time.Duration
	}{
		{"bounded by a second", pgwire.SessionInfo{Settings: settings(freshness.Bounded, time.Second)}, time.Second},
		{"bounded tighter", pgwire.SessionInfo{Settings: settings(freshness.Bounded, 20*time.Millisecond)}, 20 * time.Millisecond},
		{"bounded wider", pgwire.SessionInfo{Settings: settings(freshness.Bounded, time.Hour)}, checkLife},
		{"bounded by nothing", pgwire.SessionInfo{Settings: settings(freshness.Bounded, 0)}, 0},
		{"strong", pgwire.SessionInfo{Settings: settings(freshness.Strong, time.Second)}, 0},
		{"eventual", pgwire.SessionInfo{Settings: settings(freshness.Eventual, time.Second)}, checkLife},
		{"after a write", pgwire.SessionInfo{WroteSince: true, Settings: settings(freshness.Bounded, time.Second)}, 0},
	} {
		if got := checkBound(&c.s); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPlanKey_differsWithEverythingThatMatters(t *testing.T) {
	base := func() (uint64, *pgwire.SessionInfo, pgwire.Statement) {
		return 1, &pgwire.SessionInfo{SearchPath: []string{"public"}, TimeZone: "UTC"},
			pgwire.Statement{SQL: "SELECT $1", ParamOIDs: []uint32{23}, Params: []pgwire.Param{{Value: []byte("7")}}}
	}
	keys := map[string]string{}
	add := func(name string, change func(g *uint64, s *pgwire.SessionInfo, st *pgwire.Statement)) {
		g, s, st := base()
		change(&g, s, &st)
		k := planKey(g, s, st)
		if other, ok := keys[k]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		keys[k] = name
	}
	add("base", func(*uint64, *pgwire.SessionInfo, *pgwire.Statement) {})
	add("generation", func(g *uint64, _ *pgwire.SessionInfo, _ *pgwire.Statement) { *g = 2 })
	add("text", func(_ *uint64, _ *pgwire.SessionInfo, st *pgwire.Statement) { st.SQL = "SELECT $1 " })
	add("path", func(_ *uint64, s *pgwire.SessionInfo, _ *pgwire.Statement) { s.SearchPath = []string{"a", "public"} })
	add("zone", func(_ *uint64, s *pgwire.SessionInfo, _ *pgwire.Statement) { s.TimeZone = "Europe/Zurich" })
	add("value", func(_ *uint64, _ *pgwire.SessionInfo, st *pgwire.Statement) { st.Params[0].Value = []byte("8") })
	add("null", func(_ *uint64, _ *pgwire.SessionInfo, st *pgwire.Statement) { st.Params[0] = pgwire.Param{Null: true} })
	add("format", func(_ *uint64, _ *pgwire.SessionInfo, st *pgwire.Statement) { st.Params[0].Format = 1 })
	add("parameter type", func(_ *uint64, _ *pgwire.SessionInfo, st *pgwire.Statement) { st.ParamOIDs[0] = 25 })
}
