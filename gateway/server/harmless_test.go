package server_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// builtInsSQL lists PostgreSQL's functions that it declares to change nothing and that are meant to be called by name: not those that operators,
// aggregates, indexes and types are made of.
const builtInsSQL = `SELECT p.proname FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a', 'w')
 AND NOT EXISTS (SELECT FROM unnest(p.proargtypes || p.prorettype) AS t JOIN pg_type ON pg_type.oid = t WHERE typname IN ('internal', 'cstring') OR typname ~ '_handler$|trigger$')
 AND NOT EXISTS (SELECT FROM pg_operator o WHERE p.oid IN (o.oprcode, o.oprrest, o.oprjoin))
 AND NOT EXISTS (SELECT FROM pg_aggregate WHERE p.oid IN (aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn))
 AND NOT EXISTS (SELECT FROM pg_amproc a WHERE a.amproc = p.oid)
 AND NOT EXISTS (SELECT FROM pg_type WHERE p.oid IN (typsend, typmodin))
 AND NOT EXISTS (SELECT FROM pg_range WHERE p.oid IN (rngcanonical, rngsubdiff))
 GROUP BY 1 HAVING bool_and(provolatile <> 'v') ORDER BY 1`

// leftOut are those that do not count as harmless, by the reason.
var leftOut = map[string]*regexp.Regexp{
	"reads tables that it is told by name": regexp.MustCompile("^(table|schema|database)_to_xml"),
	"takes a transaction's number":         regexp.MustCompile("^(pg_current_xact_id|txid_current)$"),
	"tells of PostgreSQL's own snapshot":   regexp.MustCompile("^(pg_current_snapshot|txid_current_snapshot)$"),
	"for event triggers and definitions":   regexp.MustCompile("^pg_event_trigger_|_validator$"),
	"statistics views call it":             regexp.MustCompile("^pg_stat_get_"),
	"access lists":                         regexp.MustCompile("^(acldefault|aclexplode|makeaclitem)$"),
	"geometry and addresses, by names that users give to functions of their own": regexp.MustCompile("^(area|bound_box|box|broadcast|center|circle|diagonal|diameter|family|" +
		"height|host|hostmask|is(closed|horizontal|open|parallel|perp|vertical)|line|lseg|masklen|netmask|network|npoints|path|pclose|point|polygon|popen|radius|" +
		"set_masklen|macaddr8_set7bit|slope|width)$"),
	"a cast, or for text search, by such a name": regexp.MustCompile("^(abbrev|bit|bytea|char|cidr|interval|macaddr8?|money|multirange|name|oid|pg_lsn|regclass|strip|timetz|varbit|xid|xml)$"),
	"undocumented, of PostgreSQL's own use": regexp.MustCompile("^(dexp|dlog10?|dround|dtrunc|enum_send|getpgusername|int4inc|int8_sum|nameconcatoid|numeric_(div_trunc|exp|inc|ln|log|sqrt)|" +
		"similar_escape|textlen)$"),
}

func TestHarmlessFunctions_areAllThatPostgreSQLDeclaresToChangeNothing(t *testing.T) {
	t.Parallel()
	g := start(t)
	harmless := syntax.HarmlessFunctions()
	for _, name := range query(t, g.connect(g.oltp.URL("postgres")), builtInsSQL) {
		reasons := 0
		for _, names := range leftOut {
			if names.MatchString(name) {
				reasons++
			}
		}
		if _, listed := slices.BinarySearch(harmless, name); listed == (reasons > 0) || reasons > 1 {
			t.Errorf("%s: listed %t, with %d reasons to leave it out", name, listed, reasons)
		}
	}
}

// What only PostgreSQL runs is refused for its reason where the session insists on the replica, and the session tells of it.
func TestGateway_refusesSyntaxThatOnlyPostgreSQLRuns(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE note (id int PRIMARY KEY, body text, doc jsonb); INSERT INTO note VALUES (1, 'a', '{}')")
	columnar, auto := g.client(), g.client()
	exec(t, columnar, "SET freshet.route = 'columnar'")
	for sql, reason := range map[string]string{
		"SELECT count(*) > 0 FROM note TABLESAMPLE BERNOULLI (100)":                "TABLESAMPLE",
		"SELECT xmlelement(name a, body) FROM note":                                "XML",
		"SELECT json_array(body) FROM note":                                        "JSON",
		"SELECT json_array(SELECT body FROM note)":                                 "JSON",
		"SELECT jsonb_pretty(doc) FROM note":                                       "function jsonb_pretty",
		"SELECT body FROM note WHERE body = current_setting('app.who')":            "function current_setting",
		"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id USING >) FROM note": "percentile_cont ordered by an operator",
		"SELECT (array_agg(id))[1] FROM note":                                      "array_agg without ORDER BY",
	} {
		_, err := columnar.Exec(t.Context(), sql)
		if failed := (*pgconn.PgError)(nil); !errors.As(err, &failed) || failed.Code != "0A000" || !strings.Contains(failed.Message, reason) {
			t.Errorf("%s: %v, want 0A000 for %q", sql, err, reason)
		}
		query(t, auto, "SELECT count(*) FROM note")
		query(t, auto, "SELECT set_config('app.who', 'me', false)")
		query(t, auto, sql)
		route, why := one(t, auto, "SHOW freshet.last_route"), one(t, auto, "SHOW freshet.last_reason")
		if route != "oltp" || !strings.Contains(why, reason) {
			t.Errorf("%s: route %s (%s), want oltp for %q", sql, route, why, reason)
		}
		if explained := strings.Join(query(t, auto, "EXPLAIN (FRESHET) "+sql), "\n"); !strings.Contains(explained, why+"\n") {
			t.Errorf("%s: explained as %q, want the reason %q", sql, explained, why)
		}
	}
}
