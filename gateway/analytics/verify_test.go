package analytics

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

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

// factRow is a row of PostgreSQL's answer.
func factRow(kind factKind, id, mayRead, rowSecurity, children, visible, text string) [][]byte {
	var row [][]byte
	for _, v := range []string{string(kind), id, mayRead, rowSecurity, children, visible, text, "clerk", "public"} {
		row = append(row, []byte(v))
	}
	return row
}

func TestJudge_relaysWhatPostgreSQLWouldRefuseOrSeeDifferently(t *testing.T) {
	const columns = "1 23 -1 id\n3 25 -1 note\n4 16400 -1 code"
	good := factRow(isRelation, "42", "t", "f", "f", "t", columns)
	mood := []enumUse{{translate.EnumRef{Schema: "app", Name: "mood"}, &translate.Enum{OID: 16500, Version: "1"}}}
	for _, c := range []struct {
		name, want string
		rows       [][][]byte
		enums      []enumUse
	}{
		{"as the replica has it", "", [][][]byte{good}, nil},
		{"dropped", "was dropped", nil, nil},
		{"no privilege", "privileges", [][][]byte{factRow(isRelation, "42", "f", "f", "f", "t", columns)}, nil},
		{"row security", "row-level security", [][][]byte{factRow(isRelation, "42", "t", "t", "f", "t", columns)}, nil},
		{"children", "inheritance", [][][]byte{factRow(isRelation, "42", "t", "f", "t", "t", columns)}, nil},
		{"hidden by the search path", "hidden", [][][]byte{factRow(isRelation, "42", "t", "f", "f", "f", columns)}, nil},
		{"renamed column", "definition", [][][]byte{factRow(isRelation, "42", "t", "f", "f", "t", "1 23 -1 id\n3 25 -1 remark\n4 16400 -1 code")}, nil},
		{"added column", "definition", [][][]byte{factRow(isRelation, "42", "t", "f", "f", "t", columns+"\n5 23 -1 n")}, nil},
		{"another domain", "definition", [][][]byte{factRow(isRelation, "42", "t", "f", "f", "t", "1 23 -1 id\n3 25 -1 note\n4 16401 -1 code")}, nil},
		{"a function of the database's own", "lower may mean", [][][]byte{good, factRow(isDefined, "0", "f", "f", "f", "f", "lower")}, nil},
		{"a function that the user may not execute", "function lower needs", [][][]byte{good, factRow(isForbidden, "0", "f", "f", "f", "f", "lower")}, nil},
		{"an enumeration as it was", "", [][][]byte{good, factRow(isEnum, "16500", "f", "f", "f", "f", "0 1")}, mood},
		{"another enumeration of the name", "app.mood", [][][]byte{good, factRow(isEnum, "16501", "f", "f", "f", "f", "0 1")}, mood},
		{"another label", "app.mood", [][][]byte{good, factRow(isEnum, "16500", "f", "f", "f", "f", "0 2")}, mood},
		{"no type of the name", "app.mood", [][][]byte{good}, mood},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &planned{
				plan: &translate.Plan{
					Relations: []translate.Relation{{Table: orders(), Columns: []int{0}}}, Accesses: []translate.Access{{ID: 42}},
				},
				unqualified: map[cdc.TableID]bool{42: true}, enums: c.enums,
			}
			f, err := readFacts(c.rows)
			if err != nil {
				t.Fatal(err)
			}
			err = judge(f, p)
			if p.outdated() != (c.want == "app.mood") {
				t.Errorf("the translation is outdated: %t", p.outdated())
			}
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

func TestReadFacts_refusesRowsThatItDoesNotKnow(t *testing.T) {
	good := factRow(isRelation, "42", "t", "f", "f", "t", "1 23 -1 id")
	for name, row := range map[string][][]byte{
		"a value too few":      good[:factWidth-1],
		"a value too many":     append(factRow(isRelation, "42", "t", "f", "f", "t", ""), []byte("t")),
		"no values":            {},
		"another kind":         factRow("function", "42", "t", "f", "f", "t", ""),
		"an OID out of bounds": factRow(isRelation, "4294967296", "t", "f", "f", "t", ""),
	} {
		if f, err := readFacts([][][]byte{good, row}); err == nil {
			t.Errorf("%s: got %+v, want an error", name, f)
		}
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
		err := sameSession(s, []asker{{c.role, c.path}})
		var relay *pgwire.RelayError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v, want no refusal", c.name, err)
		case c.want != "" && (!errors.As(err, &relay) || !relay.Stale || !strings.Contains(relay.Reason, c.want)):
			t.Errorf("%s: got %v, want a stale RelayError with %q", c.name, err, c.want)
		}
	}
}

// A transaction that keeps its snapshot sees the catalog as it was when it began.
func TestVerify_believesNoOldSnapshotForOtherSessions(t *testing.T) {
	checks, err := lru.New[string, check](1)
	if err != nil {
		t.Fatal(err)
	}
	r := &Router{clock: time.Now, checks: checks}
	p := &planned{plan: &translate.Plan{Relations: []translate.Relation{{Table: orders(), Columns: []int{0}}}, Accesses: []translate.Access{{ID: 42}}}}
	const columns = "1 23 -1 id\n3 25 -1 note\n4 16400 -1 code"
	before := [][][]byte{factRow(isRelation, "42", "t", "f", "f", "t", columns)}
	now := append(slices.Clone(before), factRow(isDefined, "0", "f", "f", "f", "f", "lower"))
	explains := func(context.Context, pgwire.Statement) ([]byte, error) { return nil, nil }
	for _, step := range []struct {
		name, isolation string
		askPlan         func(context.Context, pgwire.Statement) ([]byte, error) // nil: in a block
		catalog         [][][]byte
		refused         bool
	}{
		{"an old snapshot", "repeatable read", nil, before, false},
		{"the present catalog", "repeatable read", explains, now, true},
		{"an old snapshot for what was told just now", "repeatable read", nil, before, true},
	} {
		s := &pgwire.SessionInfo{User: "clerk", SearchPath: []string{"public"}, Isolation: step.isolation,
			Settings: pgwire.Settings{MaxStaleness: time.Hour}, AskPlan: step.askPlan,
			Ask: func(context.Context, string) ([][][]byte, error) { return step.catalog, nil }}
		if err := r.verify(t.Context(), s, p); (err != nil) != step.refused {
			t.Errorf("%s: %v, want a refusal: %t", step.name, err, step.refused)
		}
	}
}

// SERIALIZABLE is CockroachDB's default, and what a changefeed shows is a state of its transactions' order.
func TestSessionFit_takesSerializableOfCockroachDBAlone(t *testing.T) {
	s := &pgwire.SessionInfo{Isolation: serializable, DateStyle: "ISO, MDY"}
	for dialect, refused := range map[translate.Dialect]bool{translate.PostgreSQL: true, translate.CockroachDB: false} {
		if err := (&Router{cfg: Config{Dialect: dialect}}).sessionFit(s); (err != nil) != refused {
			t.Errorf("dialect %v: %v, want a refusal: %t", dialect, err, refused)
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
