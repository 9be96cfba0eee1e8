package server_test

import "testing"

const rankings = `
CREATE TABLE shop (id int PRIMARY KEY, region text NOT NULL, n int, score int NOT NULL, place text COLLATE "en-x-icu");
INSERT INTO shop SELECT i, (ARRAY['north','south','east'])[i % 3 + 1], nullif(i * 37 % 101, 50), i * 7919 % 10007, chr(97 + i % 26) || chr(65 + i * 7 % 26) || i FROM generate_series(1, 400) i;
CREATE VIEW ranking AS SELECT id, score FROM shop ORDER BY score DESC;`

// Tools write a query around what their user wrote, which says in which order rows are to come.
func TestGateway_showsRowsInTheOrderOfTheSubqueryTheyComeFrom(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, rankings).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT * FROM (SELECT id, score FROM shop ORDER BY score DESC) AS virtual_table LIMIT 10",
		"SELECT * FROM (SELECT id FROM shop ORDER BY score DESC) t",
		"SELECT t.*, id + 1 FROM (SELECT id, n FROM shop ORDER BY n DESC NULLS LAST, id DESC) t WHERE id % 2 = 0 LIMIT 20 OFFSET 3",
		"SELECT * FROM (SELECT id, n FROM shop ORDER BY 2 DESC, 1) t LIMIT 12",
		"SELECT * FROM (SELECT region, count(*) AS orders, sum(n) FROM shop GROUP BY region ORDER BY count(*) DESC, sum(n) DESC) t",
		"SELECT * FROM (SELECT region AS r, sum(score) FROM shop GROUP BY 1 ORDER BY avg(score)) t LIMIT 2",
		"SELECT region FROM (SELECT region, max(score) AS best FROM shop GROUP BY region ORDER BY best DESC) t",
		"SELECT * FROM (SELECT place FROM shop ORDER BY place DESC) t LIMIT 15",
		"SELECT id FROM (SELECT id, place FROM shop ORDER BY place) t LIMIT 15",
		"SELECT id AS score, score AS id FROM (SELECT DISTINCT id, score FROM shop ORDER BY score, id) t LIMIT 7",
		"SELECT id AS score, score AS id FROM (SELECT id, score FROM shop ORDER BY score) t LIMIT 7",
		"SELECT * FROM (SELECT DISTINCT n % 7 AS k, region FROM shop ORDER BY 1 DESC, region) t LIMIT 9",
		"SELECT * FROM (SELECT id AS v FROM shop WHERE id < 9 UNION ALL SELECT score FROM shop WHERE id < 9 ORDER BY v DESC) t LIMIT 5",
		"SELECT * FROM (SELECT id, score FROM shop ORDER BY score LIMIT 30) t LIMIT 10",
		"SELECT * FROM (SELECT id, score FROM shop ORDER BY score FETCH FIRST 3 ROWS WITH TIES) t",
		"SELECT * FROM (SELECT * FROM (SELECT id, score FROM shop ORDER BY -score) a WHERE id > 100) b LIMIT 10",
		"SELECT * FROM (SELECT id, score * 100 / n AS share FROM shop WHERE n > 0 ORDER BY score * 100 / n DESC, id) t WHERE share > 50 LIMIT 10",
		"SELECT * FROM (SELECT score * 2 AS twice FROM (SELECT id, score FROM shop ORDER BY -score) a) b LIMIT 10",
		"SELECT * FROM (SELECT * FROM (SELECT DISTINCT id, score FROM shop ORDER BY score DESC) a WHERE id > 100) b LIMIT 10",
		"SELECT count(*), min(score), max(score) FROM (SELECT score FROM (SELECT * FROM shop ORDER BY id) t LIMIT 10) u",
		"SELECT id FROM shop WHERE id IN (SELECT id FROM (SELECT id FROM shop ORDER BY score) t LIMIT 10) ORDER BY id",
		"WITH q AS (SELECT id, score FROM shop ORDER BY score DESC) SELECT * FROM q LIMIT 10",
		"WITH q (a, b) AS (SELECT id, score FROM shop ORDER BY score DESC) SELECT r.a FROM q AS r WHERE b > (SELECT avg(b) FROM q) LIMIT 10",
		"WITH q AS MATERIALIZED (SELECT id, score FROM shop ORDER BY score DESC) SELECT * FROM q LIMIT 10",
		"WITH p AS (SELECT id, score FROM shop WHERE n > 3), q AS (SELECT id FROM p ORDER BY score) SELECT * FROM q LIMIT 4",
		"SELECT * FROM (WITH q AS (SELECT id, score FROM shop) SELECT id FROM q ORDER BY score) t LIMIT 4",
		"SELECT x, y FROM (SELECT id, score FROM shop ORDER BY score) t (x, y) LIMIT 4",
		"SELECT *, count(*) OVER () AS all_rows FROM (SELECT id, score FROM shop ORDER BY score DESC) t LIMIT 10",
		"SELECT row_number() OVER () AS place, * FROM (SELECT id FROM shop ORDER BY score) t LIMIT 4",
		"SELECT id, lag(id) OVER (), lead(id, 2, 0) OVER (), ntile(7) OVER () FROM (SELECT id FROM shop ORDER BY score) t",
		"SELECT row_number() OVER () AS place, id FROM (SELECT id FROM shop ORDER BY score) t WHERE id % 3 = 0 ORDER BY id LIMIT 9",
		"SELECT sum(r) FROM (SELECT row_number() OVER () AS r, id FROM (SELECT id FROM shop ORDER BY score) t) u WHERE id < 20",
		"WITH q AS (SELECT region, sum(n) AS total FROM shop GROUP BY region ORDER BY total DESC) SELECT row_number() OVER () AS place, count(*) OVER (), q.* FROM q",
		"SELECT *, sum(score) OVER w FROM (SELECT id, score FROM shop ORDER BY score DESC) t WINDOW w AS () LIMIT 10",
		"SELECT * FROM (SELECT id, row_number() OVER (ORDER BY score) AS r FROM shop ORDER BY r DESC) t LIMIT 4",
		"SELECT DISTINCT ON (region) region, id FROM (SELECT * FROM shop ORDER BY score) t ORDER BY region, id",
		"SELECT id FROM (SELECT id, score FROM shop ORDER BY score) t ORDER BY id DESC LIMIT 4",
		"SELECT (SELECT id FROM (SELECT id FROM shop ORDER BY score DESC) t LIMIT 1)  FROM shop WHERE id = 1",
	})
	// PostgreSQL answers what the translation does not follow.
	for _, sql := range []string{
		"SELECT count(*) FROM (SELECT id FROM shop ORDER BY score / n) t",
		"SELECT id, last_value(score) OVER (PARTITION BY region) FROM (SELECT * FROM shop ORDER BY region, score) t ORDER BY id",
		"SELECT id, first_value(id) OVER () FROM (SELECT id FROM shop ORDER BY score) t",
		"SELECT id, row_number() OVER w FROM (SELECT id FROM shop ORDER BY score) t WINDOW w AS ()",
		"SELECT region, count(*), row_number() OVER () FROM (SELECT region FROM shop ORDER BY region) t GROUP BY region",
		"SELECT x FROM (SELECT DISTINCT id, score FROM shop ORDER BY score) t (x, y) LIMIT 4",
		"SELECT * FROM (SELECT DISTINCT score % 7 FROM shop ORDER BY score % 7) t LIMIT 4",
		"SELECT * FROM (SELECT * FROM (WITH q AS (SELECT id FROM shop ORDER BY score) SELECT * FROM q) a) b LIMIT 4",
		"SELECT * FROM ranking LIMIT 4",
	} {
		if alike(t, columnar, oltp, sql, inOrder) != refused {
			t.Errorf("%s: answered by the replica", sql)
		}
	}
}

// Aggregates that collect values take those of an ordered subquery in its order.
func TestGateway_collectsValuesInTheOrderOfASubquery(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, rankings).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT array_agg(id), count(*), string_agg(region, ',') FROM (SELECT id, region FROM shop ORDER BY score DESC) t",
		"SELECT array_agg(n) FROM (SELECT n FROM shop ORDER BY score) t",
		"SELECT (array_agg(place))[1] FROM (SELECT place FROM shop ORDER BY score) t",
		"SELECT string_agg(region || id, ', ') FILTER (WHERE id % 2 = 0) FROM (SELECT region, id FROM shop ORDER BY score LIMIT 20) t WHERE id > 5",
		"SELECT o.id, (SELECT string_agg(t.id::text, ',') FROM (SELECT id FROM shop u WHERE u.region = o.region ORDER BY score LIMIT 3) t) FROM shop o ORDER BY 1",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT array_agg(id) FROM (SELECT DISTINCT id, n FROM shop ORDER BY n, id) t",
		"SELECT array_agg(id), string_agg(region, ',' ORDER BY id) FROM (SELECT id, region FROM shop ORDER BY score) t",
		"SELECT region, array_agg(id) FROM (SELECT id, region FROM shop ORDER BY region, score) t GROUP BY region ORDER BY region",
	})
}
