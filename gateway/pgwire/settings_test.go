package pgwire_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/local/pgserver"
)

const read = columnar + "SELECT 1 FROM pg_class LIMIT 1"

// settingsNow returns the settings that the analytical route is told at the next statement.
func (b *bed) settingsNow(t *testing.T, c *pgconn.PgConn) pgwire.Settings {
	t.Helper()
	run(t, c, read)
	return b.analytics.lastInfo().Settings
}

func TestSettings_reachTheAnalyticalRoute(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	defaults := pgwire.Settings{MaxStaleness: time.Second}
	with := func(change func(*pgwire.Settings)) pgwire.Settings {
		s := defaults
		change(&s)
		return s
	}
	strong := with(func(s *pgwire.Settings) { s.Freshness = freshness.Strong })
	for _, tc := range []struct {
		name, sql string
		want      pgwire.Settings
	}{
		{"defaults", "", defaults},
		{"SET", "SET freshet.freshness = strong", strong},
		{"SET TO, quoted, session", "SET SESSION freshet.max_staleness TO '2 s'", with(func(s *pgwire.Settings) { s.Freshness, s.MaxStaleness = freshness.Strong, 2*time.Second })},
		{"rolled back", "BEGIN; SET freshet.freshness = eventual; ROLLBACK", with(func(s *pgwire.Settings) { s.Freshness, s.MaxStaleness = freshness.Strong, 2*time.Second })},
		{"RESET", "RESET freshet.max_staleness", strong},
		{"integers are milliseconds", "SET freshet.max_staleness = 250", with(func(s *pgwire.Settings) { s.Freshness, s.MaxStaleness = freshness.Strong, 250*time.Millisecond })},
		{"RESET ALL", "RESET ALL", defaults},
		{"set_config", "SELECT set_config('freshet.freshness', 'strong', false)", strong},
		{"DISCARD ALL", "DISCARD ALL", defaults},
		{"a minimum", "SET freshet.min_snapshot = '1/A0'", with(func(s *pgwire.Settings) { s.MinSnapshot.Major = 1<<32 + 0xa0 })},
		{"a quoted name", `SET freshet.freshness TO "strong"`, with(func(s *pgwire.Settings) { s.Freshness = freshness.Strong; s.MinSnapshot.Major = 1<<32 + 0xa0 })},
		{"bounded again", "RESET freshet.freshness", with(func(s *pgwire.Settings) { s.MinSnapshot.Major = 1<<32 + 0xa0 })},
		{"DEFAULT", "SET freshet.min_snapshot TO DEFAULT", defaults},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.sql != "" {
				run(t, c, tc.sql)
			}
			if d := cmp.Diff(tc.want, b.settingsNow(t, c)); d != "" {
				t.Error(d)
			}
		})
	}
	run(t, c, "BEGIN")
	run(t, c, "SET LOCAL freshet.freshness = strong")
	run(t, c, "ROLLBACK")
	if d := cmp.Diff(defaults, b.settingsNow(t, c)); d != "" {
		t.Errorf("after a rollback of SET LOCAL: %s", d)
	}
	run(t, c, "ALTER DATABASE "+b.database+" SET freshet.freshness = 'eventual'")
	other := connect(t, b.through+"&options=-c%20freshet.max_staleness%3D3s")
	want := pgwire.Settings{Freshness: freshness.Eventual, MaxStaleness: 3 * time.Second}
	if d := cmp.Diff(want, b.settingsNow(t, other)); d != "" {
		t.Errorf("of the role and the start: %s", d)
	}
}

func TestSettings_refuseInvalidValues(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	for _, tc := range []struct{ sql, code, hint string }{
		{"SET freshet.freshness = 'sometimes'", "22023", "bounded, strong, eventual"},
		{"SET freshet.route = postgres", "22023", "auto, oltp, columnar"},
		{"SET freshet.max_staleness = '-1s'", "22023", "500ms"},
		{"SET freshet.max_staleness = 'soon'", "22023", "500ms"},
		{"SET LOCAL freshet.min_snapshot = 'x'", "22023", "SHOW freshet.snapshot"},
		{"SET freshet.snapshot = 'x'", "55P02", "reports"},
		{"SET freshet.nosuch = 1", "42704", "freshet.route"},
	} {
		for _, extended := range []bool{false, true} {
			var e *pgconn.PgError
			if extended {
				e = failurePrepared(t, c, tc.sql)
			} else {
				e = failure(t, c, tc.sql)
			}
			if e.Code != tc.code || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("%s: %s, hint %q; want %s, hint with %q", tc.sql, e.Code, e.Hint, tc.code, tc.hint)
			}
		}
	}
	run(t, c, "BEGIN")
	failure(t, c, "SET freshet.route = nonsense")
	if e := failure(t, c, "SELECT 1"); e.Code != "25P02" {
		t.Errorf("after a refused setting in a block: %s, want 25P02", e.Code)
	}
	run(t, c, "ROLLBACK")
	run(t, c, "SELECT set_config('freshet.route', 'nonsense', false)")
	if e := failure(t, c, read); e.Code != "22023" {
		t.Errorf("a read under an invalid route: %s, want 22023", e.Code)
	}
	_, err := pgconn.Connect(t.Context(), b.through+"&options=-cfreshet.route%3Dnonsense")
	if err == nil || !strings.Contains(err.Error(), "22023") {
		t.Errorf("connect with an invalid route: %v, want 22023", err)
	}
}

func failurePrepared(t *testing.T, c *pgconn.PgConn, sql string) *pgconn.PgError {
	t.Helper()
	r := c.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	e, ok := r.Err.(*pgconn.PgError)
	if !ok {
		t.Fatalf("%s: error %v, want one of PostgreSQL's form", sql, r.Err)
	}
	return e
}

func TestSettings_areShown(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	show := func(sql string) string {
		t.Helper()
		simple := run(t, c, sql)[0][0]
		r := c.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
		if r.Err != nil {
			t.Fatalf("%s: %v", sql, r.Err)
		}
		if extended := string(r.Rows[0][0]); extended != simple {
			t.Errorf("%s: %q prepared, %q otherwise", sql, extended, simple)
		}
		return simple
	}
	check := func(sql, want string) {
		t.Helper()
		if got := show(sql); got != want {
			t.Errorf("%s = %q, want %q", sql, got, want)
		}
	}
	check("SHOW freshet.route", "auto")
	check("SHOW freshet.max_staleness", "1s")
	check("SHOW freshet.snapshot", "")
	run(t, c, read)
	check("SHOW freshet.last_route", "columnar")
	check("SHOW freshet.snapshot", "0/10")
	check("show FRESHET.STALENESS", "5ms")
	check("SELECT current_setting('freshet.snapshot')", "0/10")
	run(t, c, strings.Replace(read, "1 FROM", "'unplanned' AS unplanned FROM", 1))
	check("SHOW freshet.last_route", "oltp")
	check("SHOW freshet.last_reason", "the script says so")
	run(t, c, read)
	check("SHOW freshet.last_route", "columnar")
	run(t, c, "SELECT count(*) FROM pg_class WHERE random() < 2") // no candidate by its text alone
	check("SHOW freshet.last_route", "oltp")
	check("SHOW freshet.snapshot", "")
	run(t, c, "SET freshet.route = oltp")
	check("SHOW freshet.route", "oltp")
	before := b.analytics.answered.Load()
	run(t, c, read)
	if b.analytics.answered.Load() != before {
		t.Error("a read took the analytical route under freshet.route = oltp")
	}
}

func TestSettings_columnarNeverRunsReadsOnPostgreSQL(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	run(t, c, "SET freshet.route = columnar")
	run(t, c, read)
	run(t, c, "SELECT 1")
	run(t, c, "INSERT INTO copied VALUES (1, 'x')")
	for _, sql := range []string{"SELECT count(*) FROM copied", columnar + "SELECT a AS unplanned FROM copied", columnar + "SELECT a AS unrunnable FROM copied"} {
		for _, e := range []*pgconn.PgError{failure(t, c, sql), failurePrepared(t, c, sql)} {
			if e.Code != "0A000" || e.Hint == "" {
				t.Errorf("%s: %s, hint %q; want 0A000 with a hint", sql, e.Code, e.Hint)
			}
		}
	}
	run(t, c, "BEGIN")
	if e := failure(t, c, read); e.Code != "0A000" {
		t.Errorf("in a READ WRITE block: %s, want 0A000", e.Code)
	}
	run(t, c, "ROLLBACK")
	run(t, c, read)
}

func TestSession_pinsOneSnapshotPerReadOnlyBlock(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	opened := func(begun, ended int) {
		t.Helper()
		if gotBegun, gotEnded := b.analytics.open(); gotBegun != begun || gotEnded != ended {
			t.Errorf("%d snapshots pinned and %d released, want %d and %d", gotBegun, gotEnded, begun, ended)
		}
	}
	run(t, c, "BEGIN READ ONLY")
	run(t, c, read)
	run(t, c, read)
	opened(1, 0)
	run(t, c, "SELECT count(*) FROM copied") // read committed: PostgreSQL may run it
	run(t, c, "COMMIT")
	opened(1, 1)
	run(t, c, "BEGIN")
	run(t, c, "SET TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE READ")
	run(t, c, read)
	if got := b.analytics.lastInfo(); got.Isolation != "repeatable read" || got.Tx == nil {
		t.Errorf("isolation %q, snapshot %v; want repeatable read and a snapshot", got.Isolation, got.Tx)
	}
	opened(2, 1)
	run(t, c, "SELECT 1")
	if e := failure(t, c, "SELECT count(*) FROM copied"); e.Code != "0A000" || !strings.Contains(e.Hint, "freshet.route") {
		t.Errorf("a statement for PostgreSQL after a columnar one: %s %q, want 0A000 with a hint", e.Code, e.Hint)
	}
	run(t, c, "ROLLBACK")
	opened(2, 2)
	answered := b.analytics.answered.Load()
	run(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	run(t, c, "SELECT count(*) FROM copied")
	run(t, c, read)
	run(t, c, "COMMIT")
	run(t, c, "BEGIN")
	run(t, c, read)
	run(t, c, "COMMIT")
	if n := b.analytics.answered.Load(); n != answered {
		t.Errorf("%d statements went to the replica in blocks that PostgreSQL has to run", n-answered)
	}
	run(t, c, "SET default_transaction_read_only = on")
	run(t, c, "BEGIN")
	run(t, c, read)
	opened(3, 2)
	c.Conn().Close()
	b.waitFor(t, "the snapshot of a broken connection to be released", func() bool { _, ended := b.analytics.open(); return ended == 3 })
}

func TestSession_knowsOfItsOwnWrites(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	wrote := func(want bool) {
		t.Helper()
		run(t, c, read)
		if got := b.analytics.lastInfo().WroteSince; got != want {
			t.Errorf("WroteSince = %v, want %v", got, want)
		}
	}
	wrote(false)
	run(t, c, "INSERT INTO copied VALUES (1)")
	wrote(true)
	wrote(false)
	run(t, c, "BEGIN; UPDATE copied SET a = 2; COMMIT")
	wrote(true)
	run(t, c, "SELECT count(*) FROM copied")
	wrote(false)
	r := c.ExecParams(t.Context(), "DELETE FROM copied", nil, nil, nil, nil).Read()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	wrote(true)
}

func TestSession_explainsInBothProtocols(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	want := [][]string{{"Route: columnar"}, {"SQL: SELECT count(*) FROM copied"}}
	if d := cmp.Diff(want, run(t, c, "EXPLAIN (FRESHET) SELECT count(*) FROM copied")); d != "" {
		t.Error(d)
	}
	r := c.ExecParams(t.Context(), "EXPLAIN (FRESHET) SELECT count(*) FROM copied WHERE a = $1", [][]byte{[]byte("1")}, nil, nil, nil).Read()
	if r.Err != nil || len(r.Rows) != 2 || r.FieldDescriptions[0].Name != "QUERY PLAN" {
		t.Errorf("prepared: %v, %d rows, %v", r.Err, len(r.Rows), r.FieldDescriptions)
	}
	if e := failure(t, c, "EXPLAIN (FRESHET) SELECT nosuch FROM copied"); e.Code != "42703" || e.Position != 26 {
		t.Errorf("EXPLAIN of an unknown column: %s at %d, want 42703 at 26", e.Code, e.Position)
	}
	run(t, c, "BEGIN")
	want = [][]string{{"Route: oltp"}, {"Reason: it is in a READ WRITE transaction block"}}
	if d := cmp.Diff(want, run(t, c, "EXPLAIN (FRESHET) SELECT count(*) FROM copied")); d != "" {
		t.Error(d)
	}
	run(t, c, "COMMIT")
	run(t, c, "SET freshet.route = 'oltp'")
	want = [][]string{{"Route: oltp"}, {"Reason: freshet.route is oltp"}}
	if d := cmp.Diff(want, run(t, c, "EXPLAIN (FRESHET) SELECT count(*) FROM copied")); d != "" {
		t.Error(d)
	}
	run(t, c, "SET freshet.route = 'columnar'; BEGIN")
	want = [][]string{{"Route: none, as freshet.route is columnar"}, {"Reason: it is in a READ WRITE transaction block"}}
	if d := cmp.Diff(want, run(t, c, "EXPLAIN (FRESHET) SELECT count(*) FROM copied")); d != "" {
		t.Error(d)
	}
}

func TestSettings_keepADefaultBoundOfZero(t *testing.T) {
	for name, c := range map[string]struct{ given, want *pgwire.Settings }{
		"none given": {nil, &pgwire.Settings{MaxStaleness: time.Second}},
		"zero":       {&pgwire.Settings{}, &pgwire.Settings{}},
	} {
		b := newBed(t, func(cfg *pgwire.Config) { cfg.Defaults = c.given })
		if d := cmp.Diff(*c.want, b.settingsNow(t, connect(t, b.through))); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestSettings_followTheDefaultsOfTheUser(t *testing.T) {
	var defaults atomic.Pointer[pgwire.Settings]
	set := func(f freshness.Mode, d time.Duration) {
		defaults.Store(&pgwire.Settings{Freshness: f, MaxStaleness: d})
	}
	set(freshness.Eventual, time.Minute)
	b := newBed(t, func(cfg *pgwire.Config) {
		cfg.DefaultsOf = func(user string, d pgwire.Settings) pgwire.Settings {
			if user != pgserver.Superuser {
				t.Errorf("asked for the defaults of %q", user)
			}
			if own := defaults.Load(); own != nil {
				return *own
			}
			return d
		}
	})
	c := connect(t, b.through)
	check := func(shown string, want pgwire.Settings) {
		t.Helper()
		if got := run(t, c, "SHOW freshet.freshness")[0][0]; got != shown {
			t.Errorf("SHOW freshet.freshness = %q, want %q", got, shown)
		}
		if d := cmp.Diff(want, b.settingsNow(t, c)); d != "" {
			t.Error(d)
		}
	}
	check("eventual", pgwire.Settings{Freshness: freshness.Eventual, MaxStaleness: time.Minute})
	set(freshness.Strong, time.Hour)
	check("strong", pgwire.Settings{Freshness: freshness.Strong, MaxStaleness: time.Hour})
	run(t, c, "SET freshet.freshness = strong") // what is the default, but the session's own from now on
	run(t, c, "SHOW freshet.max_staleness")
	run(t, c, "SET work_mem = '8MB'")
	set(freshness.Eventual, 2*time.Hour)
	check("strong", pgwire.Settings{Freshness: freshness.Strong, MaxStaleness: 2 * time.Hour})
	run(t, c, "SELECT set_config('freshet.max_staleness', '5s', false)")
	run(t, c, "RESET freshet.freshness")
	check("eventual", pgwire.Settings{Freshness: freshness.Eventual, MaxStaleness: 5 * time.Second})
	run(t, c, "BEGIN")
	run(t, c, "SHOW freshet.freshness")
	run(t, c, "ROLLBACK")
	defaults.Store(nil)
	check("bounded", pgwire.Settings{MaxStaleness: 5 * time.Second})
}

// A driver may end the messages that prepare a statement by a Flush and go on with those of another (asyncpg).
func TestSettings_areShownBehindAPreparedStatement(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	p := c.StartPipeline(t.Context())
	defer p.Close()
	behind, prepared := 0, map[string]bool{}
	check := func(setting, want string) {
		t.Helper()
		behind++
		p.SendPrepare(fmt.Sprint("behind", behind), read, nil)
		p.SendFlushRequest()
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.GetResults(); err != nil {
			t.Fatal(err)
		}
		if !prepared[setting] {
			p.SendPrepare(setting, "SHOW "+setting, nil)
			prepared[setting] = true
		}
		p.SendQueryPrepared(setting, nil, nil, nil)
		if err := p.Sync(); err != nil {
			t.Fatal(err)
		}
		shown := ""
		for {
			switch r, err := p.GetResults(); r := r.(type) {
			case *pgconn.ResultReader:
				rows := r.Read()
				if rows.Err != nil {
					t.Fatalf("SHOW %s: %v", setting, rows.Err)
				}
				shown = string(rows.Rows[0][0])
			case *pgconn.PipelineSync:
				if shown != want {
					t.Errorf("SHOW %s = %q, want %q", setting, shown, want)
				}
				return
			default:
				if err != nil {
					t.Fatalf("SHOW %s: %v", setting, err)
				}
			}
		}
	}
	execute := func(sql string) {
		t.Helper()
		p.SendQueryParams(sql, nil, nil, nil, nil)
		if err := p.Sync(); err != nil {
			t.Fatal(err)
		}
		for {
			switch r, err := p.GetResults(); r := r.(type) {
			case *pgconn.ResultReader:
				if rows := r.Read(); rows.Err != nil {
					t.Fatalf("%s: %v", sql, rows.Err)
				}
			case *pgconn.PipelineSync:
				return
			default:
				t.Fatalf("%s: %T, %v", sql, r, err)
			}
		}
	}
	check("freshet.route", "auto")
	check("freshet.last_route", "")
	execute(read)
	check("freshet.last_route", "columnar")
	check("freshet.snapshot", "0/10")
	execute("SELECT count(*) FROM pg_class WHERE random() < 2")
	check("freshet.last_route", "oltp")
	check("freshet.snapshot", "")
}

// SHOW takes no snapshot: what may only come before one yet can, in a block that began by SHOW.
func TestSettings_areShownWithoutASnapshot(t *testing.T) {
	b := newBed(t)
	reports := map[string]string{"snapshot": "0/10", "staleness": "5ms", "last_route": "columnar", "last_reason": "scripted"}
	for setting, first := range map[string]string{"route": "auto", "freshness": "bounded", "max_staleness": "1s", "min_snapshot": "",
		"snapshot": "", "staleness": "", "last_route": "", "last_reason": ""} {
		for _, extended := range []bool{false, true} {
			c, want := connect(t, b.through), first
			check := func(want string) {
				t.Helper()
				sql := "SHOW freshet." + setting
				var got string
				if extended {
					r := c.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
					if r.Err != nil {
						t.Fatalf("%s: %v", sql, r.Err)
					}
					got = string(r.Rows[0][0])
				} else {
					got = run(t, c, sql)[0][0]
				}
				if got != want {
					t.Errorf("%s = %q, want %q", sql, got, want)
				}
			}
			run(t, c, "BEGIN")
			check(want)
			run(t, c, "SAVEPOINT freshet")
			check(want)
			run(t, c, "ROLLBACK TO SAVEPOINT freshet")
			run(t, c, "RELEASE SAVEPOINT freshet")
			run(t, c, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
			check(want)
			run(t, c, "COMMIT")
			run(t, c, read)
			if report, ok := reports[setting]; ok {
				want = report
			}
			run(t, c, "BEGIN")
			check(want)
			run(t, c, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
			run(t, c, "ROLLBACK")
			check(want)
		}
	}
	c := connect(t, b.through)
	run(t, c, "BEGIN")
	run(t, c, "SET LOCAL freshet.max_staleness = '3s'")
	if got := run(t, c, "SHOW freshet.max_staleness")[0][0]; got != "3s" {
		t.Errorf("of the block's own: %q", got)
	}
	run(t, c, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
	run(t, c, "COMMIT")
	if got := run(t, c, "SHOW freshet.max_staleness")[0][0]; got != "1s" {
		t.Errorf("after the block: %q", got)
	}
}
