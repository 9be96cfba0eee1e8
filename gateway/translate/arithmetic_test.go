package translate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/finish"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// pairs is a table of numbers of all magnitudes.
type pairs struct{}

func (pairs) Table([]string, string, string) (*cdc.Table, bool) {
	return &cdc.Table{ID: 7, Schema: "public", Name: "pairs", Key: []int{0}, Columns: []cdc.Column{
		{Name: "id", Type: 23, Modifier: -1, NotNull: true, Attr: 1},
		{Name: "a", Type: 1700, Modifier: 20<<16 | 6 + 4, Attr: 2},
		{Name: "b", Type: 1700, Modifier: 12<<16 | 4 + 4, Attr: 3},
		{Name: "i", Type: 23, Modifier: -1, Attr: 4},
	}}, true
}

func randomNumber(rng *rand.Rand, digits, scale int) string {
	n := rng.Int64N(pow(1 + rng.IntN(digits)))
	if rng.IntN(8) == 0 {
		n = pow(rng.IntN(digits))
	}
	text := fmt.Sprintf("%0*d", scale+1, n)
	text = text[:len(text)-scale] + "." + text[len(text)-scale:]
	if rng.IntN(2) == 0 {
		text = "-" + text
	}
	return text
}

func pow(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// Numerics must agree in every digit and in how many of them are shown, for which
// PostgreSQL's rules depend on the operands' magnitudes.
func TestNumericArithmetic_equalsPostgreSQL(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	rows := []string{"(0, NULL, 1, 3)", "(1, 1, NULL, NULL)", "(2, 0, 7, 0)", "(3, 99999999999999.999999, 0.0001, 1)"}
	for i := len(rows); i < 1500; i++ {
		b := randomNumber(rng, 12, 4)
		if strings.Trim(b, "-0.") == "" {
			b = "1"
		}
		rows = append(rows, fmt.Sprintf("(%d, %s, %s, %d)", i, randomNumber(rng, 18, 6), b, rng.Int32()-1<<30))
	}
	conn, client := loadPairs(t, rows)
	for _, expression := range []string{
		"a / b", "b / a", "a / 3", "1 / b", "a / i", "i / 7.0", "100.00 * a / (1 + abs(b))", "a * b", "a + b", "a - b * 2", "-a",
		"a % b", "round(a, 2)", "round(a / b, 3)", "trunc(a, 1)", "round(a, -2)", "trunc(a, -3)", "round(b, -7)", "round(b, -8)", "round(b, -12)", "trunc(b, -9)", "round(i, -3)", "trunc(i, -1)", "round(150, -2)", "round(a / b, -1)", "round(round(a, -2) / 100, 2)", "ceil(a)", "floor(b)", "a::numeric(18,2)", "a::int8", "(a / b)::numeric(30,10)",
		"case when id % 2 = 0 then a else 1 end", "coalesce(b, a)", "a > b", "a / b > 1.5", "abs(b)", "i::numeric(12,1)",
	} {
		compareExpression(t, conn, client, "SELECT id, "+expression+" FROM pairs WHERE a <> 0 AND i <> 0 OR a IS NULL OR b IS NULL ORDER BY id")
	}
	// Below the top the engine divides, not package finish: by integers of two widths.
	for _, quotient := range []string{
		"a / b", "b / a", "b / b", "a / a", "i / b", "b / i", "a / i", "i / 7.0", "id / 3.0", "a / 3", "7 / b", "0.0 / b", "0 / a", "a / 0.0001", "b / 10000", "a / 9999.9999",
		"a / 99999999999999999", "i / 99999999999999999", "b / 12345678901234567", "i / 0.0000000000000001", "id / 10000000000000000", "0.00 / 10000000000000000 / b",
		"99999999999999999999 / b", "99999999999999999999999999999999 / b", "12345678901234567890123.456789 / i", "a * b / b", "a / b / 3", "b / (a / 7)", "a / abs(b)", "-a / 5000",
		"(a / b)::numeric(30,10) / 3", "i::numeric(17,5) / b", "b / i::numeric(17,4)", "b / (id + 1)::numeric(17,12)", "abs(b) / 0.5000",
	} {
		rows := "FROM pairs WHERE a <> 0 AND i <> 0 OR a IS NULL OR b IS NULL"
		compareExpression(t, conn, client, "SELECT id, x FROM (SELECT id, "+quotient+" AS x "+rows+") t ORDER BY id")
		compareExpression(t, conn, client, "SELECT id % 5, sum(x) FROM (SELECT id, "+quotient+" AS x "+rows+") t GROUP BY 1 ORDER BY 1")
	}
	compareExpression(t, conn, client, "SELECT id, x FROM (SELECT id, a / b AS x FROM pairs) t ORDER BY id") // a dividend of zero, too
	for _, quotient := range []string{"a / b", "b / a", "a / 3", "b / i", "-a / i", "i / 7.0", "a / b / 3"} {
		rows := "FROM (SELECT id, " + quotient + " AS x FROM pairs WHERE a <> 0 AND i <> 0 OR a IS NULL OR b IS NULL) t"
		for _, extremes := range []string{
			"SELECT id % 5, max(x), min(x), max(x) - min(x), round(max(-x), 3) " + rows + " GROUP BY 1 ORDER BY 1", "SELECT max(x), min(x) FILTER (WHERE id < 0) " + rows,
			"SELECT id, max(x) OVER (PARTITION BY id % 7), min(x) OVER (ORDER BY id), first_value(x) OVER (ORDER BY id DESC), nth_value(x, 3) OVER (ORDER BY id), lag(x) OVER (ORDER BY id) " + rows + " ORDER BY id",
			"SELECT max(m), min(m) FROM (SELECT id % 50, avg(x) AS m, max(x) " + rows + " GROUP BY 1) u", "SELECT id FROM pairs WHERE a > (SELECT max(x) / 2 " + rows + ") ORDER BY 1",
		} {
			compareExpression(t, conn, client, extremes)
		}
	}
	for _, aggregates := range []string{"sum(a), avg(a), min(b), max(b), count(*)", "sum(b) / count(b), avg(i), sum(a) / sum(b)", "sum(case when id % 3 = 0 then a else 0 end), 1 + sum(b)"} {
		compareExpression(t, conn, client, "SELECT id % 7, "+aggregates+" FROM pairs GROUP BY 1 ORDER BY 1")
	}
}

// loadPairs fills the table in both databases.
func loadPairs(t *testing.T, rows []string) (*pgconn.PgConn, *engine.Client) {
	t.Helper()
	return load(t, []string{
		"CREATE TABLE pairs (id int PRIMARY KEY, a numeric(20,6), b numeric(12,4), i int)", "INSERT INTO pairs VALUES " + strings.Join(rows, ","),
	}, []string{
		"CREATE TABLE pairs (id Int32, a Nullable(Decimal(20, 6)), b Nullable(Decimal(12, 4)), i Nullable(Int32)) ENGINE = MergeTree ORDER BY id",
		"INSERT INTO pairs SELECT toInt32(c.1), toDecimal128OrNull(c.2, 6), toDecimal64OrNull(c.3, 4), toInt32OrNull(c.4) FROM (SELECT arrayJoin([" + tuples(rows) + "]) AS c)",
	})
}

// load starts both databases and runs statements in each.
func load(t *testing.T, inPostgres, inEngine []string) (*pgconn.PgConn, *engine.Client) {
	t.Helper()
	ctx := t.Context()
	server, columnar := stand.Postgres(t), stand.Engine(t)
	conn, err := pgconn.Connect(ctx, server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	client, err := engine.Open(ctx, engine.Config{Addr: columnar.TCPAddr(), User: columnar.User, Password: columnar.Password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, sql := range inPostgres {
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range inEngine {
		if err := client.Query(ctx, sql, nil, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	return conn, client
}

// tuples writes rows as the engine's tuples of strings.
func tuples(rows []string) string {
	out := make([]string, len(rows))
	for i, r := range rows {
		fields := strings.Split(strings.Trim(r, "()"), ", ")
		for j, f := range fields {
			fields[j] = "'" + f + "'"
		}
		out[i] = "(" + strings.Join(fields, ", ") + ")"
	}
	return strings.Join(out, ", ")
}

func compareExpression(t *testing.T, conn *pgconn.PgConn, client *engine.Client, sql string) {
	t.Helper()
	guarded, err := compareAnswers(t.Context(), conn, client, pairs{}, sql)
	switch {
	case err != nil:
		t.Errorf("%s: %v", sql, err)
	case guarded != nil:
		t.Logf("%s: guarded: %.150v", sql, guarded)
	}
}

// compareAnswers runs a statement over one table in both databases, by its translation; guarded is the engine's refusal to answer.
func compareAnswers(ctx context.Context, conn *pgconn.PgConn, client *engine.Client, catalog translate.Catalog, sql string) (guarded, different error) {
	description, err := conn.Prepare(ctx, "", sql, nil)
	if err != nil {
		return nil, err
	}
	want := conn.ExecPrepared(ctx, "", nil, nil, nil).Read()
	tree, err := syntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	env := translate.Env{Catalog: catalog, TimeZone: "UTC"}
	for _, f := range description.Fields {
		env.Fields = append(env.Fields, translate.Field{Name: f.Name, TypeOID: f.DataTypeOID, Modifier: f.TypeModifier})
	}
	plan, err := translate.Translate(tree, env)
	if err != nil {
		return nil, err
	}
	decoder, err := finish.NewDecoder(plan.Output, nil, finish.Style{})
	if err != nil {
		return nil, err
	}
	row := 0
	err = client.Query(ctx, plan.SQL(func(i int) string { return plan.Relations[i].Table.Name }), plan.Settings, decoder.Results(), func(n int) error {
		rows, err := decoder.Encode(n)
		if err != nil {
			return err
		}
		for got := range rows.Values() {
			if row >= len(want.Rows) {
				return fmt.Errorf("more than %d rows", row)
			}
			for c := range got {
				if g, w := string(got[c]), string(want.Rows[row][c]); g != w || (got[c] == nil) != (want.Rows[row][c] == nil) {
					return fmt.Errorf("row %s, column %d: %q instead of %q", got[0], c+1, g, w)
				}
			}
			row++
		}
		return nil
	}, nil)
	switch {
	case finish.IsGuard(err):
		return err, nil
	case err != nil:
		return nil, err
	case want.Err != nil:
		return nil, fmt.Errorf("answered where PostgreSQL says %w", want.Err)
	case row != len(want.Rows):
		return nil, fmt.Errorf("%d rows instead of %d", row, len(want.Rows))
	}
	return nil, nil
}

// The engine's planner takes longer for a quotient than the engine does for a thousand rows of it.
func TestTranslate_writesTheQuotientOfAStandardDeviationOnce(t *testing.T) {
	t.Parallel()
	plan, err := translateText(t, "SELECT round(stddev(price), 2) FROM item", 1700)
	if err != nil {
		t.Fatal(err)
	}
	sql := plan.SQL(func(i int) string { return plan.Relations[i].Table.Name })
	if n := strings.Count(sql, "division by zero"); n != 1 {
		t.Errorf("%d quotients in %s", n, sql)
	}
}
