package server_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
)

const builtSchema = `CREATE TYPE mood AS ENUM ('low', 'a "b"', 'ü');
CREATE TABLE thing (id int PRIMARY KEY, small smallint, big bigint, n numeric(12,2), t text, v varchar(20), c char(4), b boolean, d date, at timestamp, tz timestamptz, tm time, u uuid, m mood, j jsonb, js json, grp int NOT NULL, k text COLLATE "C");
INSERT INTO thing VALUES (1, 1, 9223372036854775807, 1.50, E'a "b" \\ /', 'é', 'x', true, '2024-01-02', '2024-01-02 03:04:05', '2024-01-02 03:04:05+00', '01:02:03', '6ecd8c99-4036-403d-bf84-cf8400f67836', 'a "b"', '{"a": 1.50, "b": {"c": [1, {"d": "x: y"}]}}', '{"a" :  1}', 1, 'a'),
 (2, -1, -1, 0.00, E'\n\r\t\b\f\x01\x1f\x7f', '[{: x :', '', false, '1900-01-01', '1999-12-31 23:59:59.123456', '1999-12-31 23:59:59.5+00', '23:59:59.5', NULL, 'low', '[1, "a", null]', '[]', 1, 'bb'),
 (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL), (4, 0, 0, -1234567890.05, '', ':', '"', NULL, '1970-01-01', '1970-01-01', '2024-07-01 12:00+00', '00:00', '00000000-0000-0000-0000-000000000000', 'ü', '"x"', '"x"', 2, 'c'),
 (5, 7, 7, 7, '\u005b "": ": {"a"  : [', ' :', 'é', true, '2024-02-29', '2024-02-29 00:00:00.1', '2024-02-29 00:00+00', '12:00', NULL, 'low', 'null', 'null', 3, 'a');
CREATE TABLE part (id int PRIMARY KEY, thing int NOT NULL, name text COLLATE "C", qty int); INSERT INTO part VALUES (1, 1, 'x', 1), (2, 1, 'a"', 2), (3, 2, NULL, NULL), (4, 4, 'x', 4), (5, 1, 'x', 5);
CREATE VIEW shown AS SELECT p.id, json_build_object('a', p.name) AS o, row_to_json(p) AS r, (SELECT jsonb_agg(q.qty ORDER BY q.id) FROM part q WHERE q.thing = p.thing) AS l FROM part p;
CREATE TABLE rest (id int PRIMARY KEY, f float8, o bytea, tags text[]); INSERT INTO rest VALUES (1, 1.5, '\x00', '{a}');
CREATE TABLE far (id int PRIMARY KEY, d date, at timestamp, k text); INSERT INTO far VALUES (1, 'infinity', '-infinity', NULL), (2, '0044-03-15 BC', '20000-01-01', 'a'), (3, '0001-01-01', '9999-12-31', 'a');`

func TestGateway_buildsJSON(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, builtSchema).routes()
	var statements []string
	for _, column := range []string{"id", "small", "big", "n", "t", "v", "c", "b", "d", "at", "tz", "tm", "u", "m", "j", "js", "k", "n * 2", "t || 'x'", "d + 1", "NULL", "'a\"'", "5", "1.50", "true"} {
		statements = append(statements, "SELECT id, json_build_object('a', "+column+", 'b c', id) AS j FROM thing ORDER BY id", "SELECT id, json_build_array("+column+", id) AS j FROM thing ORDER BY id", "SELECT grp, json_agg("+column+" ORDER BY id) AS j FROM thing GROUP BY grp ORDER BY grp")
		if column != "js" {
			statements = append(statements, "SELECT id, jsonb_build_object('bb', "+column+", 'a', id) AS j FROM thing ORDER BY id", "SELECT id, jsonb_build_array("+column+", id)::text AS j FROM thing ORDER BY id", "SELECT grp, jsonb_agg("+column+" ORDER BY id DESC) AS j FROM thing GROUP BY grp ORDER BY grp")
		}
		if column[0] != '\'' && column != "NULL" && column != "js" {
			statements = append(statements, "SELECT id, to_json("+column+") AS a, to_jsonb("+column+") AS b FROM thing ORDER BY id")
		}
	}
	for _, zone := range []string{"UTC", "Asia/Kolkata", "America/New_York"} {
		exec(t, columnar, "SET TimeZone = '"+zone+"'")
		exec(t, oltp, "SET TimeZone = '"+zone+"'")
		wantAlikeIn(t, columnar, oltp, 1, []string{"SELECT id, json_build_object('tz', tz), to_jsonb(tz) FROM thing ORDER BY id"})
	}
	wantAlikeIn(t, columnar, oltp, 1, append(statements,
		"SELECT row_to_json(thing) FROM thing ORDER BY id", "SELECT row_to_json(t) FROM thing t WHERE id < 4 ORDER BY id", "SELECT to_json(p), to_jsonb(p) FROM part p ORDER BY id", "SELECT row_to_json(x) FROM (SELECT id, name AS \"a \"\"b\", qty * 2 AS q FROM part) x ORDER BY x.id", "SELECT json_agg(p ORDER BY p.id) FROM part p", "SELECT jsonb_agg(p ORDER BY p.id DESC) FROM part p",
		"SELECT thing, json_agg(p ORDER BY id) AS parts, count(*) FROM part p GROUP BY thing ORDER BY thing", "SELECT json_agg(row_to_json(p) ORDER BY id) FROM part p", "SELECT json_agg(json_build_object('id', id, 'name', name) ORDER BY id) FROM part", "SELECT jsonb_agg(jsonb_build_object('name', name, 'in', jsonb_build_object('qty', qty)) ORDER BY id) FROM part",
		"SELECT jsonb_build_object('doc', j, 'list', jsonb_build_array(j, jsonb_build_object('j', j))) AS x FROM thing ORDER BY id", "SELECT x->'doc'->'b'->'c', x->'list' FROM (SELECT id, jsonb_build_object('doc', j, 'list', jsonb_build_array(j, 1)) AS x FROM thing) y ORDER BY id", "SELECT e->>'a', e->'b'->'c' FROM (SELECT id, jsonb_build_array(j, j) AS x FROM thing WHERE id = 1) y, jsonb_array_elements(x) e ORDER BY id",
		"SELECT coalesce(json_agg(p ORDER BY id), '[]') FROM part p WHERE id > 99", "SELECT coalesce(jsonb_agg(name ORDER BY id), '[]'::jsonb), coalesce(json_agg(name ORDER BY id), '[]'::json) FROM part WHERE id > 99", "SELECT json_agg(name ORDER BY id) FILTER (WHERE qty > 1), jsonb_agg(qty ORDER BY id) FILTER (WHERE qty > 99) FROM part", "SELECT json_agg(DISTINCT qty), jsonb_agg(DISTINCT name) FROM part", "SELECT json_agg(DISTINCT name ORDER BY name DESC) FROM part",
		"SELECT id, coalesce(j, '{}'), coalesce(j->'b', '[]')->'c' FROM thing ORDER BY id", "SELECT json_object_agg(k, id ORDER BY id) FROM thing WHERE k IS NOT NULL AND id < 5", "SELECT json_object_agg(k, j ORDER BY id DESC) FROM thing WHERE id < 3", "SELECT jsonb_object_agg(k, n) FROM thing WHERE id <> 3 AND id < 5", "SELECT grp, jsonb_object_agg(t, j) FROM thing WHERE t IS NOT NULL GROUP BY grp ORDER BY grp", "SELECT json_object_agg(k, id ORDER BY id), jsonb_object_agg(k, id) FROM thing WHERE id > 99",
		"SELECT json_agg(x), count(*) FROM (SELECT id, name FROM part ORDER BY qty DESC, id LIMIT 3) x", "SELECT coalesce(jsonb_agg(x.name), '[]') FROM (SELECT name FROM part WHERE id > 1 ORDER BY id DESC) x", "SELECT coalesce(json_agg(t), '[]') FROM (SELECT thing, count(*) AS n FROM part GROUP BY thing ORDER BY 2 DESC, thing) t WHERE t.n > 0", "SELECT coalesce(json_agg(t), '[]') FROM (SELECT * FROM part WHERE id > 99 ORDER BY id) t", "SELECT json_agg(json_build_object('id', t.id, 'n', t.n) ) FROM (SELECT p.id, p.name AS n FROM part p JOIN thing USING (id) ORDER BY p.id DESC OFFSET 1) t",
		"SELECT id, o, r, l FROM shown ORDER BY id", "SELECT row_to_json(s) FROM shown s ORDER BY id", "SELECT json_build_object('n', count(*), 'sum', sum(qty), 'max', max(name), 'avg', round(avg(qty), 2)) FROM part", "SELECT grp, json_build_object('grp', grp, 'total', sum(n)) FROM thing GROUP BY grp ORDER BY grp", "SELECT json_build_object('k', 1, 'k', id) FROM part ORDER BY id", "SELECT t.id, (SELECT json_agg(p.name ORDER BY p.id) FROM part p WHERE p.thing = t.id) FROM thing t ORDER BY 1", "SELECT t.id, coalesce(p.list, '[]') FROM thing t LEFT JOIN LATERAL (SELECT json_agg(json_build_object('n', p.name) ORDER BY p.id) AS list FROM part p WHERE p.thing = t.id) p ON true ORDER BY 1",
		"SELECT json_build_object('o', json_build_object('i', id, 'l', json_build_array()))::text FROM part ORDER BY id", "SELECT json_build_object('t', t.id, 'p', p.name) FROM thing t LEFT JOIN part p ON p.thing = t.id ORDER BY t.id, p.id", "SELECT row_to_json(p) FROM thing t JOIN part p ON p.thing = t.id ORDER BY p.id", "SELECT json_agg(x ORDER BY x.id) FROM (SELECT id, name FROM part ORDER BY id LIMIT 2) x",
	))
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT json_agg(name) FROM part", "SELECT x.id % 2, json_agg(x) FROM (SELECT id FROM part ORDER BY id DESC) x GROUP BY 1 ORDER BY 1", "SELECT json_agg(x), json_agg(x ORDER BY id) FROM (SELECT id FROM part ORDER BY id DESC) x", "SELECT json_agg(x) FROM (SELECT id FROM part ORDER BY id DESC) x, thing", "SELECT json_agg(x) FROM (SELECT DISTINCT qty FROM part ORDER BY qty) x", "SELECT array_agg(x.id) FROM (SELECT id FROM part ORDER BY id DESC) x", "SELECT id FROM thing WHERE j = '[]'", "SELECT id FROM thing WHERE j IN ('{}', '[]')", "SELECT nullif(j, '{}') FROM thing", "SELECT id FROM thing WHERE j IS DISTINCT FROM '{}'::jsonb", "SELECT coalesce(j, '{}') > '{}' FROM thing", "SELECT row_to_json(p) FROM thing t LEFT JOIN part p ON p.thing = t.id ORDER BY t.id, p.id", "SELECT json_build_object('f', f) FROM rest", "SELECT to_json(o) FROM rest", "SELECT to_json(tags) FROM rest", "SELECT row_to_json(r) FROM rest r", "SELECT to_json(d) FROM far ORDER BY id", "SELECT to_jsonb(at) FROM far ORDER BY id", "SELECT json_build_object('a') FROM part", "SELECT json_build_object(name, id) FROM part WHERE id = 1",
		"SELECT json_build_object(NULL, id) FROM part", "SELECT json_object_agg(k, id ORDER BY id) FROM far", "SELECT jsonb_object_agg(k, id) FROM far", "SELECT jsonb_object_agg(name, id) FROM part WHERE thing = 1", "SELECT jsonb_build_object('a', js) FROM thing", "SELECT jsonb_build_object('a', 1, 'a', id) FROM part ORDER BY id", "SELECT to_json('a') FROM part", "SELECT row_to_json(id) FROM part", "SELECT json_build_object('a', avg(qty)) FROM part", "SELECT p FROM part p", "SELECT row_to_json(s) FROM shown s (a, b) ORDER BY s.a", "SELECT row_to_json(p) FROM part p (a, b) ORDER BY p.a", "SELECT row_to_json(p) FROM part p (a, b) ORDER BY 1",
	})
}

// Strings and documents come into a json as PostgreSQL writes them, and are found in a jsonb again, whatever is in them.
func TestGateway_buildsJSONOfAnything(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	columnar, oltp := start(t, "CREATE TABLE odd (id int PRIMARY KEY, t text, j jsonb, k text)").routes()
	for id := range 1500 {
		text, err := json.Marshal(c.value(4))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := oltp.Exec(t.Context(), "INSERT INTO odd VALUES ($1, $2, $3, $4)", id, c.text(6), string(text), c.text(2)+"#"+strconv.Itoa(id)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	exec(t, columnar, "SET freshet.freshness = strong")
	statements := []string{
		"SELECT row_to_json(odd) FROM odd ORDER BY id", "SELECT to_jsonb(odd) FROM odd ORDER BY id", "SELECT id % 100, json_agg(t ORDER BY id), jsonb_agg(j ORDER BY id) FROM odd GROUP BY 1 ORDER BY 1", "SELECT id % 100, json_agg(s ORDER BY id) FROM odd s GROUP BY 1 ORDER BY 1",
		"SELECT id % 50, jsonb_object_agg(k, t), json_object_agg(k, j ORDER BY id) FROM odd GROUP BY 1 ORDER BY 1", "SELECT x->>'t' = t, x->'j'->'a'->>'b', x->'l'->'j', x->'l'->>'t' FROM (SELECT id, t, jsonb_build_object('t', t, 'j', j, 'l', jsonb_build_object('j', j, 't', t)) AS x FROM odd) y ORDER BY id",
		"SELECT id, e FROM (SELECT id, jsonb_build_array(j, t, jsonb_build_array(t, j), id) AS x FROM odd) y, jsonb_array_elements(x) WITH ORDINALITY e (e, n) ORDER BY id, n", "SELECT id, e FROM (SELECT id, jsonb_build_array(t, k) AS x FROM odd) y, jsonb_array_elements_text(x) WITH ORDINALITY e (e, n) ORDER BY id, n",
		"SELECT g, e.value->>'t', e.value->'j'->'a', n FROM (SELECT id % 40 AS g, jsonb_agg(jsonb_build_object('t', t, 'j', j) ORDER BY id) AS x FROM odd GROUP BY 1) y, jsonb_array_elements(x) WITH ORDINALITY e (value, n) ORDER BY 1, n", "SELECT id, e.key, e.value FROM (SELECT id, to_jsonb(odd) AS x FROM odd) y, jsonb_each(x) WITH ORDINALITY e ORDER BY 1, ordinality",
	}
	wantAlikeIn(t, columnar, oltp, 1, statements)
}
