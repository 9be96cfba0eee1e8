package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// moods has an enumeration whose order is neither that of its labels' letters nor that in which they came to be.
const moods = `CREATE SCHEMA "My Types"; CREATE TYPE "My Types"."Mood" AS ENUM ('sad', 'it''s', 'happy', 'Zoë', ''); CREATE TYPE level AS ENUM ('low', 'high');
ALTER TYPE level ADD VALUE 'middle' BEFORE 'high'; ALTER TYPE level ADD VALUE 'a\b"c' BEFORE 'low'; ALTER TYPE "My Types"."Mood" ADD VALUE 'angry' BEFORE 'sad';
CREATE DOMAIN grade AS level CHECK (VALUE <> 'low');
CREATE TABLE person (id int PRIMARY KEY, mood "My Types"."Mood", level level NOT NULL, grade grade, v numeric(6,2));
INSERT INTO person SELECT i, (ARRAY['sad', 'happy', 'it''s', NULL, 'Zoë', 'angry', ''])[i % 7 + 1]::"My Types"."Mood", (ARRAY['low', 'high', 'middle', 'a\b"c'])[i * 7 % 11 % 4 + 1]::level,
	(ARRAY['high', NULL, 'a\b"c', 'middle'])[i % 4 + 1]::grade, i * 3 % 17 FROM generate_series(1, 60) i;
CREATE TABLE task (id int PRIMARY KEY, person int, needs level); INSERT INTO task SELECT i, i * 5 % 61, (ARRAY['low', 'middle', NULL, 'high'])[i % 4 + 1]::level FROM generate_series(1, 90) i;
CREATE VIEW high AS SELECT id, mood, level, greatest(level, grade::level) AS best FROM person WHERE level >= 'middle' AND mood < 'Zoë'`

func TestGateway_ordersEnumerationsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, moods).routes()
	var statements []string
	for _, by := range []string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"} {
		for _, form := range []string{
			"SELECT mood, id FROM person ORDER BY mood$, id", "SELECT id FROM person ORDER BY level, mood$, id LIMIT 11 OFFSET 3", "SELECT DISTINCT mood FROM person ORDER BY mood$", "SELECT mood FROM person ORDER BY 1$ FETCH FIRST 5 ROWS WITH TIES",
			"SELECT mood AS m, count(*) FROM person GROUP BY m ORDER BY m$", "SELECT mood FROM (SELECT mood FROM person ORDER BY mood$ LIMIT 9) s ORDER BY mood$", "SELECT DISTINCT ON (level) level, mood, id FROM person ORDER BY level, mood$, id",
			"SELECT mood FROM person UNION SELECT 'sad' ORDER BY mood$", "SELECT mood FROM person WHERE id < 9 UNION ALL SELECT mood FROM person WHERE id > 55 ORDER BY 1$", "SELECT id, rank() OVER (ORDER BY mood$), dense_rank() OVER (PARTITION BY level ORDER BY mood$) FROM person ORDER BY id",
			"SELECT id, count(*) OVER (ORDER BY mood$), sum(v) OVER (ORDER BY mood$ RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), lag(mood) OVER (ORDER BY mood$, id) FROM person ORDER BY id",
			"SELECT level, string_agg(id::text, ',' ORDER BY mood$, id$) FROM person GROUP BY level ORDER BY level$", "SELECT p.id, l.id FROM person p CROSS JOIN LATERAL (SELECT t.id FROM task t WHERE t.person = p.id ORDER BY t.needs$, t.id LIMIT 2) l ORDER BY 1, 2",
			"SELECT id FROM person ORDER BY CASE WHEN id % 3 = 0 THEN level ELSE 'middle' END$, coalesce(grade::level, level)$, id", "SELECT mood::text || '!', mood FROM person ORDER BY mood$, id", "SELECT mood, level, count(*) FROM person GROUP BY ROLLUP (mood, level) ORDER BY mood$, level$, 3",
		} {
			statements = append(statements, strings.ReplaceAll(form, "$", by))
		}
	}
	statements = append(statements,
		"SELECT min(mood), max(mood), min(level), max(level), min(grade::level), max(grade::level), max(mood) FILTER (WHERE id < 0), min(DISTINCT level) FROM person", "SELECT max(level) FROM person WHERE false", "SELECT level, min(mood), max(grade::level) FROM person GROUP BY level ORDER BY max(mood), 1",
		"SELECT id, max(mood) OVER (ORDER BY id), min(level) OVER (PARTITION BY mood ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM person ORDER BY id", "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY mood), percentile_disc(0.9) WITHIN GROUP (ORDER BY level) FROM person",
		"SELECT level, percentile_disc(0.3) WITHIN GROUP (ORDER BY mood) FROM person GROUP BY level ORDER BY level", "SELECT id, greatest(level, 'low'), least(level, grade::level, 'middle'), greatest(mood, 'happy', NULL), least(NULL, mood) FROM person ORDER BY id",
		"SELECT id, level < 'high' AS a, level <= grade::level AS b, mood > 'sad' AS c, mood >= 'it''s' AS d, level BETWEEN 'low' AND 'middle' AS e, grade::level BETWEEN SYMMETRIC 'high' AND 'middle' AS f, 'happy' < mood AS g FROM person ORDER BY id",
		"SELECT count(*) FROM person WHERE mood < 'happy'::\"My Types\".\"Mood\" AND level >= 'middle'::level", "SELECT count(*) FROM person WHERE NOT (mood < 'happy') OR mood > NULL", "SELECT t.id, p.id FROM task t JOIN person p ON p.id = t.person AND p.level >= t.needs ORDER BY 1",
		"SELECT count(*) FROM task t JOIN person p ON p.level > t.needs AND p.id < 10 AND t.id < 20", "SELECT t.id FROM task t LEFT JOIN person p ON p.id = t.person AND p.level < t.needs WHERE p.id IS NULL ORDER BY t.needs, 1",
		"SELECT id FROM person WHERE level > ANY (SELECT needs FROM task WHERE id < 3) ORDER BY 1", "SELECT id FROM person WHERE level < ALL (SELECT needs FROM task WHERE needs <> 'low') ORDER BY 1",
		"SELECT id FROM person p WHERE EXISTS (SELECT FROM task t WHERE t.person = p.id AND t.needs < p.level) ORDER BY 1", "SELECT id FROM person p WHERE NOT EXISTS (SELECT FROM task t WHERE t.person = p.id AND t.needs >= p.level) ORDER BY 1", "SELECT id, (SELECT max(needs) FROM task t WHERE t.person = p.id) AS m FROM person p ORDER BY m, id",
		"SELECT id FROM person WHERE level >= (SELECT max(needs) FROM task) ORDER BY 1", "SELECT id FROM person WHERE (level, mood) < ('middle', 'happy') ORDER BY 1", "SELECT id FROM person WHERE level < ANY (ARRAY['low', 'middle']::level[]) ORDER BY 1", "SELECT id FROM person WHERE level >= ALL ('{low,middle}'::level[]) ORDER BY 1",
		"SELECT id FROM person WHERE level = ANY (ARRAY['low', 'high']::level[]) ORDER BY 1", "SELECT id FROM person WHERE mood = ANY ('{sad,\"\",NULL,Zoë}'::\"My Types\".\"Mood\"[]) ORDER BY 1", "SELECT id FROM person WHERE level <> ALL (ARRAY['low'::level, 'a\\b\"c']) ORDER BY 1",
		"SELECT * FROM high ORDER BY best DESC, mood, id", "SELECT max(best), min(mood) FROM high WHERE best > 'low'", "SELECT id FROM person WHERE grade::level > 'a\\b\"c' ORDER BY grade, id", "SELECT DISTINCT level, mood FROM person ORDER BY level DESC, mood", "SELECT mood FROM person GROUP BY mood HAVING max(level) > 'low' AND min(level) < 'middle' ORDER BY mood",
		"WITH m AS (SELECT mood, max(level) AS top FROM person GROUP BY mood) SELECT * FROM m WHERE top >= 'low' ORDER BY top, mood", "SELECT max(level) FROM (SELECT level FROM person UNION ALL SELECT needs FROM task) s", "SELECT level FROM person INTERSECT SELECT needs FROM task ORDER BY 1 DESC",
		"SELECT first_value(mood) OVER (ORDER BY level, id), last_value(level) OVER (ORDER BY mood, id) FROM person ORDER BY mood, id", "SELECT p.mood, q.mood FROM person p FULL JOIN person q ON p.id = q.id + 30 ORDER BY p.mood, q.mood, p.id, q.id", "SELECT mood FROM person p FULL JOIN (SELECT mood FROM person WHERE id < 3) q USING (mood) ORDER BY mood DESC",
	)
	for _, sql := range statements {
		if want, got := outcome(t, oltp, sql), outcome(t, columnar, sql); !slices.Equal(got, want) {
			t.Errorf("%s: %v, PostgreSQL says %v", sql, got, want)
		}
	}
}

func TestGateway_comparesByTheOrderOfBoundLabels(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, moods).routes()
	for _, sql := range []string{
		"SELECT id FROM person WHERE level >= $1 ORDER BY level, id", "SELECT id FROM person WHERE level BETWEEN $1 AND 'middle' ORDER BY id", "SELECT id, greatest(level, $1) FROM person ORDER BY id", "SELECT coalesce(grade, $1) AS g FROM person ORDER BY g, id",
	} {
		for _, label := range []string{"low", "middle", `a\b"c`} {
			for format := range int16(2) {
				want := labelOutcome(t, oltp, sql, []byte(label), format)
				if got := labelOutcome(t, columnar, sql, []byte(label), format); !slices.Equal(got, want) {
					t.Errorf("%s with %q in format %d: %v, PostgreSQL says %v", sql, label, format, got, want)
				}
			}
		}
	}
}

// A label that comes between others, or changes its name with another, changes the order, but no row.
func TestGateway_followsTheOrderOfLabels(t *testing.T) {
	t.Parallel()
	g := start(t, moods)
	auto, direct := g.client(), g.connect(g.oltp.URL("postgres"))
	exec(t, auto, "SET freshet.freshness = strong")
	statements := []string{
		"SELECT level, count(*) FROM person GROUP BY level ORDER BY level", "SELECT max(level), min(level) FROM person", "SELECT id FROM person WHERE level < 'middle' ORDER BY id", "SELECT needs, id FROM task ORDER BY needs DESC, id LIMIT 20",
	}
	same := func(after string) {
		t.Helper()
		for _, sql := range statements {
			if want, got := query(t, direct, sql), query(t, auto, sql); !slices.Equal(got, want) {
				t.Errorf("%s after %s: %v, PostgreSQL says %v", sql, after, got, want)
			}
		}
	}
	same("the start")
	for _, ddl := range []string{
		"BEGIN; ALTER TYPE level RENAME VALUE 'low' TO 'x'; ALTER TYPE level RENAME VALUE 'middle' TO 'low'; ALTER TYPE level RENAME VALUE 'x' TO 'middle'; COMMIT",
		"ALTER TYPE level ADD VALUE 'below' BEFORE 'low'", "INSERT INTO person VALUES (1001, NULL, 'below'), (1002, NULL, 'low'); INSERT INTO task VALUES (1001, 1, 'below')",
		"ALTER TYPE level ADD VALUE 'top' AFTER 'high'", "INSERT INTO person VALUES (1003, NULL, 'top')", "ALTER TYPE level RENAME VALUE 'below' TO 'zero'",
	} {
		exec(t, direct, ddl)
		same(ddl)
	}
}

// A block reads from its snapshot, in which the labels have the order of then.
func TestGateway_keepsTheOrderOfLabelsOfASnapshot(t *testing.T) {
	t.Parallel()
	g := start(t, moods)
	columnar, direct := g.client(), g.connect(g.oltp.URL("postgres"))
	exec(t, columnar, "SET freshet.route = columnar")
	statements := []string{"SELECT level FROM person ORDER BY level LIMIT 1", "SELECT max(level), min(level) FROM person", "SELECT count(*) FROM person WHERE level < 'middle'"}
	var want [][]string
	for _, sql := range statements {
		want = append(want, outcome(t, direct, sql))
	}
	exec(t, columnar, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	if got := outcome(t, columnar, statements[0]); !slices.Equal(got, want[0]) {
		t.Fatalf("%s: %v, PostgreSQL says %v", statements[0], got, want[0])
	}
	exec(t, direct, "BEGIN; ALTER TYPE level RENAME VALUE 'low' TO 'x'; ALTER TYPE level RENAME VALUE 'high' TO 'low'; ALTER TYPE level RENAME VALUE 'x' TO 'high'; COMMIT")
	for i, sql := range statements {
		got := outcome(t, columnar, sql)
		if strings.HasPrefix(got[0], "SQLSTATE ") { // the definition of the snapshot is known no more
			exec(t, columnar, "ROLLBACK")
			return
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("%s in the block: %v, in its snapshot it is %v", sql, got, want[i])
		}
	}
	exec(t, columnar, "COMMIT")
}

// ORDER BY takes the operator class that the database defines for one enumeration before that of all of them.
func TestGateway_leavesToPostgreSQLAnOrderThatTheDatabaseDefines(t *testing.T) {
	t.Parallel()
	classes := ""
	for i, op := range []string{"<", "<=", "=", ">=", ">"} {
		classes += fmt.Sprintf("CREATE FUNCTION back%d(level, level) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT enum_cmp($2, $1) %s 0'; CREATE OPERATOR ~%[2]s (LEFTARG = level, RIGHTARG = level, FUNCTION = back%[1]d);", i, op)
	}
	g := start(t, moods, classes+"CREATE FUNCTION backwards(level, level) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT enum_cmp($2, $1)'")
	columnar, oltp := g.routes()
	auto := g.client()
	exec(t, columnar, "SET freshet.freshness = strong")
	exec(t, auto, "SET freshet.freshness = strong")
	const sql = "SELECT level, count(*) FROM person GROUP BY level ORDER BY level"
	wantSameAnswer(t, columnar, oltp, sql)
	exec(t, g.connect(g.oltp.URL("postgres")), `CREATE OPERATOR CLASS backwards DEFAULT FOR TYPE level USING btree AS
		OPERATOR 1 ~<, OPERATOR 2 ~<=, OPERATOR 3 ~=, OPERATOR 4 ~>=, OPERATOR 5 ~>, FUNCTION 1 backwards(level, level)`)
	if _, err := columnar.Exec(t.Context(), sql); !refusedWith(err, "0A000") {
		t.Errorf("the columnar route answers %s: %v", sql, err)
	}
	wantSameAnswer(t, auto, oltp, sql)
}

// A varchar is ordered as a text, and every array as all are, unless there is a class for just that type.
func TestGateway_leavesToPostgreSQLAnOrderOfVarcharsThatTheDatabaseDefines(t *testing.T) {
	t.Parallel()
	var own strings.Builder
	for i, op := range []string{"<", "<=", "=", ">=", ">"} {
		fmt.Fprintf(&own, "CREATE FUNCTION back%d(varchar, varchar) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT bttextcmp($2, $1) %s 0'; CREATE OPERATOR ~%[2]s (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = back%[1]d);", i, op)
	}
	g := start(t, `CREATE TABLE word (id int PRIMARY KEY, v varchar(9) COLLATE "C"); INSERT INTO word VALUES (1, 'a'), (2, 'b'), (3, 'a')`,
		own.String()+"CREATE FUNCTION backwards(varchar, varchar) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT bttextcmp($2, $1)'")
	columnar, oltp := g.routes()
	exec(t, columnar, "SET freshet.freshness = strong")
	const sql = "SELECT v, count(*) FROM word GROUP BY v ORDER BY v"
	wantSameAnswer(t, columnar, oltp, sql)
	exec(t, g.connect(g.oltp.URL("postgres")), `CREATE OPERATOR CLASS backwards DEFAULT FOR TYPE varchar USING btree AS
		OPERATOR 1 ~<, OPERATOR 2 ~<=, OPERATOR 3 ~=, OPERATOR 4 ~>=, OPERATOR 5 ~>, FUNCTION 1 backwards(varchar, varchar)`)
	_, err := columnar.Exec(t.Context(), sql)
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || !strings.Contains(refused.Message, "the order of character varying may mean what the database defines") {
		t.Errorf("the columnar route answers %s: %v", sql, err)
	}
	exec(t, columnar, "SET freshet.route = auto")
	wantSameAnswer(t, columnar, oltp, sql)
}
