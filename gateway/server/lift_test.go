package server_test

import "testing"

const authors = `CREATE TABLE author (id int PRIMARY KEY, name text COLLATE "C" NOT NULL, country int);
INSERT INTO author SELECT i, 'author ' || i, nullif(i % 3, 0) FROM generate_series(1, 9) i;
CREATE TABLE post (id int PRIMARY KEY, author int NOT NULL, title text COLLATE "C", likes int NOT NULL, country int);
INSERT INTO post SELECT i, i % 7 + 1, CASE WHEN i % 5 > 0 THEN 'on "' || i || '"' END, i * 37 % 11, nullif(i % 4, 0) FROM generate_series(1, 40) i`

// Drizzle and Hasura write related rows so, tied to what is around from two levels below and deeper.
func TestGateway_answersSubqueriesThatAreTiedBelowTheirAggregates(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, authors).routes()
	for _, sql := range []string{
		`SELECT "a"."id", "l"."data" FROM "author" "a" LEFT JOIN LATERAL (SELECT coalesce(json_agg(json_build_array("p"."id", "p"."title")), '[]'::json) AS "data" FROM (SELECT * FROM "post" "p" WHERE "p"."author" = "a"."id" ORDER BY "p"."id" DESC LIMIT 2) "p") "l" ON true ORDER BY 1`,
		`SELECT a.id, l.data, n FROM author a LEFT JOIN LATERAL (SELECT json_agg(p) AS data, count(*) AS n FROM (SELECT * FROM post p WHERE p.author = a.id AND a.country = p.country AND likes > 2 ORDER BY likes DESC, p.id LIMIT 3) p WHERE p.id > 4) l ON true ORDER BY 1`,
		`SELECT id, (SELECT json_agg(row_to_json(p)) FROM (SELECT id AS n, title FROM post WHERE author.id = post.author ORDER BY n) p) FROM author ORDER BY 1`,
		"SELECT id, (SELECT sum(likes) FROM (SELECT likes FROM post WHERE author = a.id ORDER BY post.id LIMIT 2) p) AS s FROM author a ORDER BY 1",
		"SELECT id, (SELECT count(*) FROM (SELECT likes FROM post WHERE author = a.id LIMIT 0) p) AS s FROM author a ORDER BY 1",
		"SELECT id FROM author a WHERE (SELECT sum(likes) FROM (SELECT likes FROM post WHERE author = a.id ORDER BY likes, post.id LIMIT 3) p HAVING count(*) > 1) > 4 ORDER BY 1",
		"SELECT id, (SELECT json_agg(p) FROM (SELECT * FROM (SELECT * FROM post WHERE author = a.id) o WHERE o.likes > 3 ORDER BY o.id DESC LIMIT 2) p) FROM author a ORDER BY 1",
		`SELECT coalesce(json_agg("root" ORDER BY "root.id"), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."id" AS "id", "_root.ar"."posts" AS "posts") AS "_e")) AS "root", "_root.base"."id" AS "root.id"
			FROM (SELECT * FROM "author" WHERE 'true') AS "_root.base" LEFT OUTER JOIN LATERAL (SELECT coalesce(json_agg("posts" ORDER BY "pid" ASC), '[]') AS "posts"
			FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_p"."id" AS "id", "_p"."title" AS "title") AS "_e")) AS "posts", "_p"."id" AS "pid" FROM (SELECT * FROM "post" WHERE (("_root.base"."id") = ("author")) ORDER BY "id" LIMIT 3) AS "_p") AS "_ar") AS "_root.ar" ON ('true')) AS "_root"`,
		"SELECT row_to_json((SELECT e FROM (SELECT a.id, a.country, 'k' AS k, NULL AS z, a.country + 1 AS n) AS e)) FROM author a ORDER BY id",
		"SELECT to_jsonb((SELECT e FROM (SELECT a.id AS bb, a.country AS a) AS e)) FROM author a ORDER BY id",
		"SELECT json_agg((SELECT e FROM (SELECT a.id, a.country) AS e) ORDER BY id) FROM author a",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
}

// A name that is a column's, here or around, means the column, and not the row that is made.
func TestGateway_takesNoColumnForARowThatIsMade(t *testing.T) {
	t.Parallel()
	g := start(t, authors)
	c := g.client()
	_, oltp := g.routes()
	for _, sql := range []string{
		"SELECT to_json((SELECT name FROM (SELECT a.id AS x) AS name)) FROM author a ORDER BY id",
		"SELECT to_json((SELECT x FROM (SELECT a.id AS x, 1) AS x)) FROM author a ORDER BY id",
		"SELECT (SELECT to_json((SELECT name FROM (SELECT p.id AS x) AS name)) FROM post p WHERE p.id = a.id) FROM author a ORDER BY id",
	} {
		wantSameAnswer(t, c, oltp, sql)
	}
}
