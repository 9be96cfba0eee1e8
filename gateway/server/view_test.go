package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/server"
)

const orders = `CREATE SCHEMA app; CREATE DOMAIN quantity AS int CHECK (VALUE >= 0);
CREATE TABLE app.item (id int PRIMARY KEY, name text COLLATE "C" NOT NULL, price numeric(8, 2) NOT NULL, kind char(4));
CREATE TABLE orders (id int PRIMARY KEY, item int NOT NULL, n quantity, at timestamptz NOT NULL, note varchar(20), open bool);
INSERT INTO app.item SELECT i, 'item ' || i, i * 1.25, 'k' || i % 3 FROM generate_series(1, 20) i;
INSERT INTO orders SELECT i, 1 + i % 25, nullif(i % 7, 0), now() - i * interval '1 hour', CASE WHEN i % 3 = 0 THEN 'a_' || i END, i % 4 = 0 FROM generate_series(1, 500) i;
CREATE VIEW plain AS SELECT * FROM orders;
CREATE VIEW priced(order_id, item, "Total price") AS SELECT o.id, name, n * price FROM orders o JOIN app.item i ON o.item = i.id;
CREATE VIEW per_item AS SELECT item, count(*) AS orders, sum("Total price") AS total, avg("Total price") AS mean FROM priced GROUP BY item;
CREATE VIEW recent AS SELECT * FROM orders WHERE at > now() - interval '10 days' AND note IN ('a_3', 'a_30', 'a_300') OR note LIKE 'a\_9%';
CREATE VIEW outer_joined AS SELECT i.id, i.kind, o.id AS order_id, o.n, o.open FROM app.item i LEFT JOIN orders o ON o.item = i.id AND o.n BETWEEN 2 AND 4;
CREATE VIEW united AS SELECT id, name AS what FROM app.item WHERE id < 4 UNION ALL SELECT item, note FROM orders WHERE open IS NOT TRUE;
CREATE VIEW with_query AS WITH big AS (SELECT item, n FROM orders WHERE n > 5) SELECT b.item, CASE WHEN b.n = 6 THEN 'six' ELSE 'other' END AS label, EXTRACT(year FROM date '2024-05-06') AS y,
  coalesce(i.name, '?') AS name FROM big b LEFT JOIN app.item i ON i.id = b.item WHERE NOT EXISTS (SELECT FROM orders o WHERE o.item = b.item AND o.id % 100 = 0);
CREATE VIEW windowed AS SELECT id, item, row_number() OVER (PARTITION BY item ORDER BY id DESC) AS place FROM orders;
CREATE VIEW sorted AS SELECT id, n FROM orders ORDER BY n DESC NULLS LAST, id LIMIT 5;
CREATE VIEW guarded WITH (security_barrier) AS SELECT id FROM orders;
CREATE VIEW listed AS SELECT id, regexp_split_to_table('a b', ' ') AS g FROM orders;
CREATE VIEW catalogue AS SELECT relname FROM pg_class;
CREATE TABLE parcel (tags tsvector, id int PRIMARY KEY, spot point, item int, sent interval);
INSERT INTO parcel SELECT '{a,b}', i, point(i, i), i % 5, '1 day' FROM generate_series(1, 50) i;
CREATE VIEW parcels AS SELECT * FROM parcel`

func everySchema(c *server.Config) { c.Include = []string{"*.*"} }

func TestGateway_viewsAnswerAsInPostgreSQL(t *testing.T) {
	t.Parallel()
	g := startWith(t, everySchema, orders)
	columnar, oltp := g.routes()
	for _, sql := range []string{
		"SELECT count(*), sum(n) FROM plain WHERE item = 7",
		"SELECT p.* FROM plain p ORDER BY p.id",
		"SELECT plain.note, public.plain.n FROM public.plain WHERE public.plain.id > 490 ORDER BY plain.id",
		`SELECT item, sum("Total price") FROM priced GROUP BY item ORDER BY item`,
		`SELECT a.order_id FROM priced a JOIN priced b ON a.order_id = b.order_id + 1 AND a."Total price" > b."Total price" ORDER BY 1`,
		"SELECT * FROM per_item ORDER BY item",
		"SELECT p.item, p.mean, i.price FROM per_item AS p(item, many) JOIN app.item i ON i.name = p.item WHERE many > 10 ORDER BY 1",
		"SELECT max(total), max(orders) FROM per_item",
		"SELECT id, note FROM recent ORDER BY id",
		"SELECT id, kind, count(order_id), sum(n), bool_or(open) FROM outer_joined GROUP BY id, kind ORDER BY id",
		"SELECT what, count(*) FROM united GROUP BY what ORDER BY what NULLS FIRST",
		"SELECT DISTINCT label, y, name FROM with_query ORDER BY name, label",
		"SELECT item, id FROM windowed WHERE place = 1 ORDER BY item",
		"SELECT sum(n), max(id) FROM sorted",
		"SELECT id FROM sorted ORDER BY id",
		"SELECT o.id FROM orders o WHERE o.item IN (SELECT id FROM outer_joined WHERE kind = 'k1') AND o.id NOT IN (SELECT order_id FROM priced WHERE order_id % 2 = 0) ORDER BY 1",
		"SELECT item, count(*), min(id) FROM parcels GROUP BY item ORDER BY item",
		"SELECT p.id, i.name FROM (SELECT * FROM parcels) AS p JOIN app.item i ON i.id = p.item ORDER BY p.id",
		"WITH plain AS (SELECT id FROM orders WHERE n = 6) SELECT count(*) FROM plain",
	} {
		want := query(t, oltp, sql)
		for range 2 { // the second time the statement is known
			if got := query(t, columnar, sql); len(got) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s: %v, PostgreSQL says %v", sql, got, want)
			}
		}
	}
}

func TestGateway_saysWhyAViewIsNotColumnar(t *testing.T) {
	t.Parallel()
	g := startWith(t, everySchema, orders)
	c := g.client()
	for sql, reason := range map[string]string{
		"SELECT * FROM guarded":                 "view public.guarded: security_barrier",
		"SELECT count(*) FROM listed":           "view public.listed: function regexp_split_to_table",
		"SELECT count(*) FROM catalogue":        "view public.catalogue: a relation that is built in",
		"SELECT * FROM sorted":                  "view public.sorted: its order, which the statement shows without asking for one",
		"SELECT * FROM plain WHERE id = 5":      "point read by key: PostgreSQL is the faster store",
		"SELECT * FROM parcels":                 `column "tags" has type tsvector, and is not on the replica`,
		"SELECT count(spot) FROM parcel":        `column "spot" has type point, and is not on the replica`,
		"SELECT count(*) FROM pg_tables":        "view pg_catalog.pg_tables: a relation that is built in",
		"SELECT count(*) FROM pg_stat_activity": "view pg_catalog.pg_stat_activity: function that is not known to be free of effects",
	} {
		text := strings.Join(query(t, c, "EXPLAIN (FRESHET) "+sql), "; ")
		if !strings.Contains(strings.Replace(text, "not translated: ", "", 1), "Route: oltp; Reason: "+reason) {
			t.Errorf("%s: %s, want the reason %q", sql, text, reason)
		}
	}
	if text := strings.Join(query(t, c, "EXPLAIN (FRESHET) SELECT count(*) FROM per_item"), "; "); !strings.Contains(text, "View: public.per_item; View: public.priced; Table: ") {
		t.Errorf("EXPLAIN says %s", text)
	}
}

// A view's rows count for those who may read the view; its tables are read as its owner.
func TestGateway_viewsKeepPrivileges(t *testing.T) {
	t.Parallel()
	g := start(t, orders, `CREATE ROLE reader LOGIN PASSWORD 'r'; CREATE ROLE owner LOGIN PASSWORD 'o';
GRANT SELECT ON plain TO reader; GRANT SELECT ON orders TO owner; GRANT CREATE ON SCHEMA public TO owner;
SET ROLE owner; CREATE VIEW owned AS SELECT n FROM orders; CREATE VIEW nested AS SELECT n FROM owned; RESET ROLE;
CREATE VIEW invoked WITH (security_invoker) AS SELECT n FROM orders;
CREATE VIEW over_invoked AS SELECT n FROM invoked;
GRANT SELECT ON owned, nested, invoked, over_invoked TO reader`)
	admin := g.connect(g.oltp.URL("postgres"))
	reader := g.clientOf(url.UserPassword("reader", "r"))
	exec(t, reader, "SET freshet.freshness = strong")
	see := func(sql, route, code string) {
		t.Helper()
		result := reader.PgConn().ExecParams(context.Background(), sql, nil, nil, nil, nil).Read()
		var refused *pgconn.PgError
		switch errors.As(result.Err, &refused); {
		case code != "" && (refused == nil || refused.Code != code), code == "" && result.Err != nil:
			t.Errorf("%s: %v, want %q", sql, result.Err, code)
		case code == "":
			if last := one(t, reader, "SHOW freshet.last_route"); last != route {
				t.Errorf("%s: route %s (%s), want %s", sql, last, one(t, reader, "SHOW freshet.last_reason"), route)
			}
		}
	}
	see("SELECT sum(n) FROM plain", "columnar", "")
	see("SELECT sum(n) FROM orders", "", "42501")
	see("SELECT sum(p.n) FROM plain p JOIN orders o ON o.id = p.id", "", "42501")
	see("SELECT count(*) FROM priced", "", "42501")
	see("SELECT sum(n) FROM owned", "columnar", "")
	see("SELECT sum(n) FROM nested", "columnar", "")
	see("SELECT sum(n) FROM invoked", "", "42501")
	see("SELECT sum(n) FROM over_invoked", "", "42501")
	exec(t, admin, "GRANT SELECT ON orders TO reader")
	see("SELECT sum(n) FROM invoked", "columnar", "")
	see("SELECT sum(n) FROM over_invoked", "oltp", "")
	exec(t, admin, "REVOKE SELECT ON orders FROM reader; REVOKE SELECT ON orders FROM owner")
	see("SELECT sum(n) FROM invoked", "", "42501")
	see("SELECT sum(n) FROM owned", "", "42501")
	see("SELECT sum(n) FROM nested", "", "42501")
	exec(t, admin, "ALTER VIEW owned OWNER TO postgres; GRANT SELECT ON owned TO owner, reader")
	see("SELECT sum(n) FROM owned", "columnar", "")
	see("SELECT sum(n) FROM nested", "columnar", "")
	exec(t, admin, "ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
	see("SELECT sum(n) FROM plain", "oltp", "")
}

func TestGateway_followsChangesOfViews(t *testing.T) {
	t.Parallel()
	g := startWith(t, everySchema, orders)
	admin := g.connect(g.oltp.URL("postgres"))
	c, oltp := g.client(), g.client()
	exec(t, c, "SET freshet.freshness = strong")
	exec(t, oltp, "SET freshet.route = oltp")
	for i, ddl := range []string{
		"SELECT 1",
		"CREATE OR REPLACE VIEW plain AS SELECT * FROM orders WHERE id > 10",
		"ALTER VIEW plain RENAME COLUMN n TO m; ALTER VIEW plain RENAME COLUMN item TO n; ALTER VIEW plain RENAME COLUMN m TO item",
		"ALTER TABLE orders RENAME COLUMN n TO m; ALTER TABLE orders RENAME COLUMN item TO n; ALTER TABLE orders RENAME COLUMN m TO item",
		"ALTER TABLE orders RENAME TO old; CREATE TABLE orders (LIKE old INCLUDING ALL); INSERT INTO orders SELECT * FROM old WHERE id < 50",
		"DROP VIEW plain; CREATE VIEW plain AS SELECT * FROM orders",
		"CREATE SCHEMA front; CREATE VIEW front.plain AS SELECT id, item, n, at, note, open FROM old WHERE n > 3",
		"DROP VIEW plain; CREATE TABLE plain (LIKE old INCLUDING ALL); INSERT INTO plain SELECT * FROM old WHERE id < 30",
		"DROP VIEW front.plain",
		"DROP TABLE plain; CREATE VIEW plain AS SELECT * FROM (SELECT * FROM old WHERE id < 7) o",
	} {
		exec(t, admin, ddl)
		exec(t, c, "SET search_path = front, public")
		exec(t, oltp, "SET search_path = front, public")
		for _, sql := range []string{
			"SELECT n, item FROM plain ORDER BY id LIMIT 1", // columns that PostgreSQL says to be those of the view
			"SELECT count(*), sum(n), sum(item), max(note), min(id) FROM plain",
		} {
			for route, deadline := "", time.Now().Add(30*time.Second); route != "columnar"; { // until the replica has what the view reads
				if got, want := one(t, c, sql), one(t, oltp, sql); got != want {
					t.Fatalf("after %d changes: %s, PostgreSQL says %s", i, got, want)
				}
				if route = one(t, c, "SHOW freshet.last_route"); time.Now().After(deadline) {
					t.Fatalf("after %d changes: no answer comes from the replica: %s", i, one(t, c, "SHOW freshet.last_reason"))
				}
			}
		}
	}
}

// A view that changes together with its table's rows is never seen with the rows from before, or the other way round.
func TestGateway_viewsAndRowsAreOfOneSnapshot(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	admin := g.connect(g.oltp.URL("postgres"))
	change, ended := make(chan struct{}, 1), make(chan error)
	exec(t, admin, "CREATE VIEW total AS SELECT sum(balance) * 1 AS total FROM account")
	go func() {
		var err error
		factor := 1
		for range change {
			factor = 3 - factor
			_, e := admin.Exec(context.Background(), fmt.Sprintf(`BEGIN; UPDATE account SET balance = %d;
CREATE OR REPLACE VIEW total AS SELECT sum(balance) * %d AS total FROM account; COMMIT`, 100/factor, factor))
			err = errors.Join(err, e)
		}
		ended <- err
	}()
	c := g.client()
	columnar := 0
	for i := range 600 {
		exec(t, c, "SET freshet.freshness = "+[]string{"bounded", "strong", "eventual"}[i%3])
		if i%8 == 0 {
			select {
			case change <- struct{}{}:
			default: // the last one is not done yet
			}
		}
		if total := one(t, c, "SELECT total FROM total"); total != "100000" {
			t.Errorf("query %d: the total is %s", i, total)
		}
		if one(t, c, "SHOW freshet.last_route") == "columnar" {
			columnar++
		}
	}
	close(change)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of 600 answers came from the replica", columnar)
	if columnar == 0 {
		t.Error("no answer came from the replica")
	}
}
