package server_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/gateway/server"
)

const cities = `CREATE COLLATION numbered (provider = icu, locale = 'en-u-kn-true');
CREATE TABLE city (id int PRIMARY KEY, name text COLLATE "en-x-icu", land varchar(20) COLLATE "de-x-icu", code char(4) COLLATE numbered, n int, share numeric(6, 2));
INSERT INTO city SELECT i, (ARRAY['Ährenfeld', 'zebra', 'Zürich', 'apple', 'Apple', 'it''s', 'a\b', '', NULL, 'öl', 'Öl', 'o-l', 'ol'])[i % 13 + 1],
  (ARRAY['Zug', 'äußerst', 'Ausland', NULL])[i % 4 + 1], 'k' || i % 12, nullif(i % 7, 3), i * 1.25 FROM generate_series(1, 300) i;
CREATE TABLE many (id int PRIMARY KEY, name text COLLATE "en-x-icu"); INSERT INTO many SELECT i, 'name ' || i FROM generate_series(1, 20001) i`

func TestGateway_ordersByACollationAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, cities)
	columnar, oltp := g.routes()
	for _, sql := range []string{
		"SELECT name, count(*), sum(n) FROM city GROUP BY name ORDER BY name",
		"SELECT name, land, avg(share) FROM city GROUP BY 1, 2 ORDER BY land DESC, name NULLS FIRST",
		"SELECT DISTINCT name FROM city ORDER BY name DESC NULLS LAST",
		"SELECT DISTINCT land, n FROM city ORDER BY n DESC, land LIMIT 7 OFFSET 3",
		"SELECT id, name FROM city ORDER BY name, id LIMIT 20",
		"SELECT id FROM city WHERE n > 2 ORDER BY code DESC, share DESC OFFSET 150",
		"SELECT code, sum(share) / count(*) FROM city GROUP BY code ORDER BY code",
		"SELECT name FROM city ORDER BY name FETCH FIRST 3 ROWS WITH TIES",
		"SELECT name AS n, row_number() OVER (PARTITION BY land ORDER BY id) AS place FROM city ORDER BY place, n, id LIMIT 30",
		"SELECT name FROM city WHERE id < 20 UNION SELECT left(name, 3) FROM city WHERE id < 8 ORDER BY 1",
		"SELECT name || '!' AS loud FROM city WHERE id < 40 GROUP BY name ORDER BY loud",
		"SELECT coalesce(name, 'none') FROM city WHERE id < 40 GROUP BY name ORDER BY coalesce(name, 'none')",
		`SELECT name, count(*) FROM city GROUP BY name ORDER BY name COLLATE "C"`,
		`SELECT name COLLATE "C" AS name, count(*) FROM city GROUP BY name ORDER BY name`,
		`SELECT name COLLATE "C" FROM city GROUP BY city.name HAVING name COLLATE "C" < 'b' ORDER BY 1`,
		`SELECT name COLLATE "C" FROM city GROUP BY name UNION ALL SELECT land COLLATE "C" FROM city GROUP BY land ORDER BY 1`,
		`SELECT name, name COLLATE "C" AS c FROM city GROUP BY name, name COLLATE "C" ORDER BY c`,
		`SELECT name, name COLLATE "C" AS c FROM city GROUP BY name COLLATE "C", name ORDER BY name, c`,
		"SELECT id FROM city WHERE false ORDER BY name",
		"SELECT name FROM city ORDER BY name LIMIT 0",
		"SELECT n, min(name), max(land), count(*) FROM city GROUP BY n ORDER BY n",
		"SELECT land, max(DISTINCT name), min(name) FILTER (WHERE n > 2), max(name) FILTER (WHERE n < 0) FROM city GROUP BY land ORDER BY land DESC LIMIT 3",
		`SELECT n, min(name || E'"\\\n'), grouping(n) FROM city GROUP BY ROLLUP (n) ORDER BY 3, 1 LIMIT 7`,
		"SELECT min(c.name), max(o.land), min(o.n) FROM city c JOIN city o ON o.n = c.id",
		"SELECT min(name), max(land) FROM city WHERE false",
	} {
		want := query(t, oltp, sql)
		for range 2 { // the second time the statement is known
			if got := query(t, columnar, sql); !slices.Equal(got, want) {
				t.Errorf("%s: %v, PostgreSQL says %v", sql, got, want)
			}
		}
	}
	c := g.client()
	for _, sql := range []string{ // which rows that are cut off would fail
		"SELECT name, 7 / n FROM city ORDER BY name LIMIT 3",
		"SELECT name, share / n FROM city ORDER BY name, id LIMIT 3",
		"SELECT name, share / n FROM city WHERE n > 0 ORDER BY name, id LIMIT 3",
		// which of a group's strings is the least decides more than what is shown of it
		"SELECT n, min(name) AS least FROM city GROUP BY n ORDER BY least, n", "SELECT DISTINCT max(name) FROM city GROUP BY n ORDER BY 1",
		"SELECT max(name) FROM city UNION SELECT min(name) FROM city ORDER BY 1", "SELECT n, min(name) FROM city GROUP BY n HAVING min(name) > 'b' ORDER BY n",
		"SELECT n, coalesce(min(name), '') || max(code) FROM city GROUP BY n ORDER BY n", "SELECT count(least) FROM (SELECT min(name) AS least FROM city GROUP BY n) s",
	} {
		wantSameOutcome(t, c, oltp, sql)
	}
	exec(t, columnar, "SET backslash_quote = off") // by which a quote in a name is not to have a backslash
	exec(t, columnar, "BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ")
	const sql = "SELECT DISTINCT name FROM city ORDER BY name"
	if got, want := query(t, columnar, sql), query(t, oltp, sql); !slices.Equal(got, want) {
		t.Errorf("in a transaction: %v, PostgreSQL says %v", got, want)
	}
	exec(t, columnar, "COMMIT")
	if text := strings.Join(query(t, columnar, "EXPLAIN (FRESHET) "+sql), "; "); !strings.Contains(text, `Sort: at most 20000 rows, by PostgreSQL's collation pg_catalog."en-x-icu"`) {
		t.Errorf("EXPLAIN says %s", text)
	}
}

// The letter I has other cases under a Turkish collation, and PostgreSQL does not choose between two collations, be each by bytes or not.
func TestGateway_keepsTheRulesOfCollations(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE word (id int PRIMARY KEY, t text COLLATE "tr-x-icu", g text COLLATE "de-x-icu", c text COLLATE "C", p text COLLATE "POSIX", d text, n name);
INSERT INTO word VALUES (1, 'HIJ', 'HIJ', 'HIJ', 'HIJ', 'HIJ', 'HIJ'), (2, 'hij', 'hij', 'hij', 'hij', 'hij', 'hij'), (3, NULL, 'x', NULL, 'y', 'z', repeat('é', 40))`)
	c := g.client()
	_, oltp := g.routes()
	for _, sql := range []string{
		"SELECT id, lower(t), upper(t), initcap(t) FROM word ORDER BY id",
		"SELECT id, lower(g), upper(g), lower(c), lower(d), upper(n) FROM word ORDER BY id",
		"SELECT id FROM word WHERE t ILIKE 'hij' ORDER BY id", "SELECT id FROM word WHERE g ILIKE 'hij' ORDER BY id",
		"SELECT id FROM word WHERE t ~* 'hij' ORDER BY id",
		"SELECT id FROM word WHERE c < p", "SELECT id FROM word WHERE c = p", "SELECT id FROM word WHERE g = t",
		"SELECT id FROM word WHERE c IN (SELECT p FROM word)", "SELECT count(*) FROM word a JOIN word b ON a.c = b.p",
		"SELECT count(*) FROM word a WHERE EXISTS (SELECT FROM word b WHERE b.c = a.p)", "SELECT id FROM word WHERE c = ANY (SELECT p FROM word)",
		"SELECT c FROM word UNION ALL SELECT p FROM word ORDER BY 1", "SELECT c FROM word UNION SELECT p FROM word",
		"SELECT x FROM (SELECT c AS x FROM word UNION ALL SELECT p FROM word) w GROUP BY x ORDER BY x",
		"SELECT count(DISTINCT x) FROM (SELECT coalesce(c, p) AS x FROM word) w", "SELECT max(coalesce(t, g)) FROM word",
		"SELECT id, greatest(c, p) FROM word", "SELECT id, greatest(c, d, 'k') FROM word ORDER BY id", "SELECT id FROM word WHERE n < c ORDER BY id",
		"SELECT id FROM word WHERE n = '" + strings.Repeat("é", 40) + "' ORDER BY id", "SELECT id FROM word WHERE n > '" + strings.Repeat("b", 70) + "' ORDER BY id",
		"SELECT id FROM word WHERE n IN ('" + strings.Repeat("é", 31) + "éé') ORDER BY id", "SELECT id FROM word WHERE n = '" + strings.Repeat("é", 40) + "'::text",
		"SELECT g FROM (SELECT DISTINCT g, n FROM word ORDER BY g LIMIT 1) w",
		`SELECT g, g COLLATE "C" AS x, grouping(g, g COLLATE "C") FROM word GROUP BY CUBE (g, g COLLATE "C") ORDER BY x, 3, 1`,
		"SELECT id FROM word WHERE g COLLATE \"C\" < 'a' ORDER BY id", "SELECT id, c || p FROM word ORDER BY id",
		"SELECT id, NULLIF(c, p) FROM word", "SELECT id, CASE c WHEN p THEN 1 END FROM word", "SELECT id FROM word WHERE (c, id) IN (SELECT p, id FROM word)",
	} {
		wantSameOutcome(t, c, oltp, sql)
	}
	for sql, want := range map[string]string{"SELECT upper(t) FROM word": "oltp", "SELECT upper(g), upper(d) FROM word": "columnar", "SELECT greatest(c, 'k') FROM word": "columnar"} {
		query(t, c, sql)
		if route := one(t, c, "SHOW freshet.last_route"); route != want {
			t.Errorf("%s: the route is %s, want %s", sql, route, want)
		}
	}
}

// Only who names the collation needs its schema.
func TestGateway_leavesTheOrderToPostgreSQLIfItsCollationMayNotBeNamed(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE SCHEMA hidden; CREATE COLLATION hidden.numbered (provider = icu, locale = 'en-u-kn-true'); CREATE ROLE reader LOGIN PASSWORD 'reader'; "+
		"CREATE TABLE part (id int PRIMARY KEY, code text COLLATE hidden.numbered); INSERT INTO part SELECT i, 'k' || i FROM generate_series(1, 30) i; GRANT SELECT ON part TO reader")
	c := g.clientOf(url.UserPassword("reader", "reader"))
	const sql = "SELECT DISTINCT code FROM part ORDER BY code LIMIT 3"
	if got := query(t, c, sql); !slices.Equal(got, []string{"k1", "k2", "k3"}) {
		t.Errorf("got %v", got)
	}
	if reason := one(t, c, "SHOW freshet.last_reason"); !strings.HasPrefix(reason, "PostgreSQL did not sort strings") {
		t.Errorf("the reason is %q", reason)
	}
}

func TestGateway_followsTheNamesOfCollations(t *testing.T) {
	t.Parallel()
	g := start(t, cities)
	c := g.client()
	const sql = "SELECT DISTINCT code FROM city ORDER BY code"
	want := query(t, c, sql)
	if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
		t.Errorf("at first the route is %s", route)
	}
	exec(t, c, "ALTER COLLATION numbered RENAME TO counted")
	g.await(func(server.Status) bool {
		if got := query(t, c, sql); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		return one(t, c, "SHOW freshet.last_route") == "columnar"
	})
}

func TestGateway_leavesLargeResultsToPostgreSQLToSort(t *testing.T) {
	t.Parallel()
	g := start(t, cities)
	c := g.client()
	const sql = "SELECT name FROM many ORDER BY name LIMIT 2"
	for range 2 {
		if got := query(t, c, sql); !slices.Equal(got, []string{"name 1", "name 10"}) {
			t.Errorf("got %v", got)
		}
		if reason := one(t, c, "SHOW freshet.last_reason"); reason != "a result too large to be sorted here, by a collation that PostgreSQL knows" {
			t.Errorf("the reason is %q", reason)
		}
	}
	if got := query(t, c, "SELECT min(name) FROM many"); !slices.Equal(got, []string{"name 1"}) {
		t.Errorf("the least of 20001 is %v", got)
	}
	if reason := one(t, c, "SHOW freshet.last_reason"); reason != "a result too large to be sorted here, by a collation that PostgreSQL knows" {
		t.Errorf("of one among 20001, the reason is %q", reason)
	}
	const wide = "SELECT repeat(name, 300) FROM many WHERE id < 20000 ORDER BY name"
	if got := query(t, c, wide); len(got) != 19999 {
		t.Errorf("%d wide rows", len(got))
	}
	if reason := one(t, c, "SHOW freshet.last_reason"); reason != "a result too large to be sorted here, by a collation that PostgreSQL knows" {
		t.Errorf("of wide rows, the reason is %q", reason)
	}
	// The rows have changed for the better; the statement of another text is tried.
	exec(t, c, "DELETE FROM many WHERE id = 7")
	if got := query(t, c, sql+" OFFSET 1"); !slices.Equal(got, []string{"name 10", "name 100"}) {
		t.Errorf("got %v", got)
	}
	if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
		t.Errorf("20000 rows took route %s", route)
	}
}

func TestGateway_ordersByACollationInBinaryFormat(t *testing.T) {
	t.Parallel()
	g := start(t, cities)
	columnar, oltp := g.routes()
	const sql = "SELECT id, name, share FROM city WHERE id > $1 ORDER BY name DESC, share"
	read := func(c *pgx.Conn) []string {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r := c.PgConn().ExecParams(ctx, sql, [][]byte{[]byte("200")}, nil, nil, []int16{1}).Read()
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		var rows []string
		for _, row := range r.Rows {
			rows = append(rows, string(slices.Concat(row...)))
		}
		return rows
	}
	if got, want := read(columnar), read(oltp); len(got) != 100 || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
