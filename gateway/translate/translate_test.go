package translate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shop is a catalog of one table with most types, and others that refer to it or to each other.
type shop struct{}

// shopRows has many lines for a sale, and not so many sales for a customer.
var shopRows = map[cdc.TableID]int64{1: 1000, 2: 1_000_000, 3: 100_000, 4: 50_000}

var shopCollations = map[string]string{"german": `pg_catalog."de-x-icu"`, "turkish": `pg_catalog."tr-x-icu"`, "posix": `pg_catalog."POSIX"`, "own": "public.own"}

const numeric12d2 = 12<<16 | 2 + 4

func (shop) Table(_ []string, schema, name string) (*cdc.Table, bool) {
	column := func(attr int16, name string, oid uint32, mod int32, notNull bool) cdc.Column {
		c := cdc.Column{Name: name, Type: oid, Modifier: mod, NotNull: notNull, Attr: attr, BytewiseCollation: name != "localized"}
		if named, ok := shopCollations[name]; ok {
			c.Collation, c.BytewiseCollation = named, named == `pg_catalog."POSIX"`
		}
		return c
	}
	omitted := func(attr int16, name string) cdc.OmittedColumn {
		return cdc.OmittedColumn{Column: column(attr, name, 600, -1, false), Code: cdc.CodeUnsupportedType, Detail: "has type point"}
	}
	tables := map[string]*cdc.Table{
		"item": {ID: 1, Schema: "public", Name: "item", Key: []int{0}, Columns: []cdc.Column{
			column(1, "id", 23, -1, true), column(2, "name", 25, -1, false), column(3, "price", 1700, numeric12d2, false),
			column(4, "code", 1042, 8, true), column(5, "made", 1082, -1, false), column(6, "localized", 25, -1, false),
			column(7, "weight", 701, -1, false), column(8, "free", 1700, -1, false), column(9, "seen", 1184, -1, false),
		}},
		"line": {ID: 2, Schema: "public", Name: "line", Key: []int{0, 1}, Columns: []cdc.Column{
			column(1, "sale", 20, -1, true), column(2, "number", 21, -1, true), column(3, "item", 23, -1, true),
			column(4, "quantity", 23, -1, false), column(5, "at", 1114, -1, false),
		}},
		"sale": {ID: 3, Schema: "public", Name: "sale", Key: []int{0}, Columns: []cdc.Column{
			column(1, "id", 20, -1, true), column(2, "customer", 23, -1, false), column(3, "day", 1082, -1, false),
		}},
		"customer": {ID: 4, Schema: "public", Name: "customer", Key: []int{0}, Columns: []cdc.Column{
			column(1, "id", 23, -1, true), column(2, "name", 25, -1, false), column(3, "home.town", 25, -1, false),
		}},
		"place": {ID: 5, Schema: "public", Name: "place", Key: []int{0}, Columns: []cdc.Column{
			column(2, "id", 23, -1, true), column(4, "name", 25, -1, false), column(6, "german", 25, -1, false),
			column(7, "turkish", 25, -1, false), column(8, "posix", 25, -1, false), column(9, "own", 25, -1, false),
		}, Omitted: []cdc.OmittedColumn{omitted(1, "spot"), omitted(3, "area"), omitted(5, "customer")}},
		"named": {ID: 6, Schema: "public", Name: "named", Key: []int{0}, Columns: []cdc.Column{column(1, "null", 23, -1, true), column(2, "_r0", 23, -1, false)}},
	}
	t, ok := tables[name]
	return t, ok && (schema == "" || schema == "public")
}

func translateText(t *testing.T, sql string, oids ...uint32) (*translate.Plan, error) {
	t.Helper()
	tree, err := syntax.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	env := translate.Env{Catalog: shop{}, SearchPath: []string{"public"}, TimeZone: "UTC", Rows: func(id cdc.TableID) int64 { return shopRows[id] }, Traits: translate.Traits{ASCIICase: true}}
	env.UnfusedFloats = true
	for i, oid := range oids {
		env.Fields = append(env.Fields, translate.Field{Name: fmt.Sprintf("f%d", i+1), TypeOID: oid, Modifier: -1})
	}
	return translate.Translate(tree, env)
}

func TestTranslate_writesGoldenSQL(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("find test data: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			types, sql, _ := strings.Cut(string(b), "\n")
			var oids []uint32
			for word := range strings.FieldsSeq(strings.TrimPrefix(types, "--")) {
				var oid uint32
				if _, err := fmt.Sscan(word, &oid); err != nil {
					t.Fatalf("first line of %s: want the result's type OIDs: %v", file, err)
				}
				oids = append(oids, oid)
			}
			plan, err := translateText(t, sql, oids...)
			if err != nil {
				t.Fatal(err)
			}
			got := plan.SQL(func(i int) string { return plan.Relations[i].Table.Name }) + "\n"
			golden := strings.TrimSuffix(file, ".sql") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("engine SQL differs (-want +got):\n%s", d)
			}
		})
	}
}

func TestTranslate_refusesWhatIsNotProven(t *testing.T) {
	tests := []struct {
		name, sql string
		oids      []uint32
	}{
		{"sum of distinct floats", "SELECT sum(DISTINCT weight) FROM item", []uint32{701}},
		{"text order", "SELECT name FROM item ORDER BY localized", []uint32{25}},
		{"text order by the collation of NULLIF's second operand", "SELECT id FROM item WHERE NULLIF(name, localized) > 'a'", []uint32{23}},
		{"text order where a limit cuts off a subquery", "SELECT count(*) FROM (SELECT id FROM place ORDER BY german LIMIT 3) AS p", []uint32{20}},
		{"text order by two collations", "SELECT id FROM place ORDER BY german || localized", []uint32{23}},
		{"text order by two collations, each bytewise", `SELECT id FROM place WHERE posix < name COLLATE "C"`, []uint32{23}},
		{"equality under two collations", "SELECT id FROM place WHERE german = turkish", []uint32{23}},
		{"text order of a union of two collations", `SELECT posix FROM place UNION ALL SELECT name COLLATE "C" FROM place ORDER BY 1`, []uint32{25}},
		{"upper case under a Turkish collation", "SELECT upper(turkish) FROM place", []uint32{25}},
		{"initial capitals under a collation of somebody's", "SELECT initcap(own) FROM place", []uint32{25}},
		{"ILIKE under a Turkish collation", "SELECT id FROM place WHERE turkish ILIKE '%i%'", []uint32{23}},
		{"a series between the columns of two tables", "SELECT i.id FROM item i, line l, generate_series(i.id, l.item) g", []uint32{23}},
		{"a series up to a column of nothing", "SELECT id FROM item, generate_series(1, g)", []uint32{23}},
		{"distinct on under another collation", "SELECT DISTINCT ON (german) id FROM place ORDER BY german", []uint32{23}},
		{"variance of floats", "SELECT variance(weight) FROM item", []uint32{701}},
		{"variance of what displays differently by row", "SELECT variance(price / id) FROM item", []uint32{1700}},
		{"arithmetic on reals", "SELECT weight::real + weight::real FROM item", []uint32{700}},
		{"float as text", "SELECT weight::text FROM item", []uint32{25}},
		{"percentile beyond 1", "SELECT percentile_disc(1.5) WITHIN GROUP (ORDER BY id) FROM item", []uint32{23}},
		{"percentile at a value of each group", "SELECT percentile_disc(1.0 / id) WITHIN GROUP (ORDER BY name) FROM item GROUP BY id", []uint32{25}},
		{"percentile of localized text", "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY localized) FROM item", []uint32{25}},
		{"percentiles at fractions of each group", "SELECT percentile_disc(ARRAY[0.1, 1.0 / id]) WITHIN GROUP (ORDER BY name) FROM item GROUP BY id", []uint32{1009}},
		{"GROUPING of what is not grouped by", "SELECT GROUPING(price) FROM item GROUP BY ROLLUP(name)", []uint32{23}},
		{"column that another grouping set lacks the key of", "SELECT price FROM item GROUP BY ROLLUP(id)", []uint32{1700}},
		{"grouping sets over a computed constant", "SELECT reverse((999.99)::text) FROM item GROUP BY ROLLUP((999.99)::text)", []uint32{25}},
		{"grouping sets over a decided CASE", "SELECT CASE 1 WHEN 2 THEN id ELSE 3 END FROM item GROUP BY ROLLUP (CASE 1 WHEN 2 THEN id ELSE 3 END)", []uint32{23}},
		{"grouping sets over keys that are computed alike", "SELECT id FROM item GROUP BY CUBE(abs(price), abs(item.price), id)", []uint32{23}},
		{"too many grouping sets", "SELECT count(*) FROM item GROUP BY CUBE(id, name), CUBE(price, made), ROLLUP(code)", []uint32{20}},
		{"GROUP BY DISTINCT", "SELECT count(*) FROM item GROUP BY DISTINCT ROLLUP(id), ROLLUP(id)", []uint32{20}},
		{"semi join on a constant NULL in part", "SELECT id FROM item i WHERE EXISTS (SELECT FROM item o WHERE o.id = i.id AND (o.id, i.name) < (NULL, 'a'))", []uint32{23}},
		{"semi join on what is always NULL in part", "SELECT id FROM item i WHERE EXISTS (SELECT FROM item o WHERE o.id = i.id AND o.id + i.id > NULLIF(1, 1))", []uint32{23}},
		{"outer join on what is always NULL in part", "SELECT i.id FROM item i LEFT JOIN item o ON o.id = i.id AND o.id > coalesce(NULLIF(1, 1), NULLIF(2, 2))", []uint32{23}},
		{"a negative length that is constant, whether there are rows or none", "SELECT substr('abc', 1, (-7) % 6) FROM item WHERE false", []uint32{25}},
		{"correlation by a division", "SELECT id FROM item i WHERE EXISTS (SELECT FROM sale s WHERE s.id = 7 / i.id)", []uint32{23}},
		{"correlated IN of a division", "SELECT id FROM item i WHERE 7 / i.id IN (SELECT s.id FROM sale s WHERE s.customer = i.id)", []uint32{23}},
		{"ANY over no elements beside an outer join", "SELECT i.id FROM item i LEFT JOIN item o ON i.id = o.id WHERE (o.id = ANY ('{}')) IS NOT UNKNOWN", []uint32{23}},
		{"DISTINCT of unconstrained numerics", "SELECT DISTINCT free FROM item", []uint32{1700}},
		{"unconstrained numerics beside others in a set operation", "SELECT free FROM item UNION ALL SELECT price FROM item", []uint32{1700}},
		{"percentile of unconstrained numerics", "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY free) FROM item", []uint32{1700}},
		{"NULL in an outer join's condition", "SELECT i.id FROM item i LEFT JOIN item o ON i.id = o.id AND (o.price, o.name) < (NULL, 'x')", []uint32{23}},
		{"regular expression by row", "SELECT id FROM item WHERE name ~ code", []uint32{23}},
		{"named class", "SELECT id FROM item WHERE name ~ '[[:alpha:]]'", []uint32{23}},
		{"options in a regular expression", "SELECT id FROM item WHERE name ~ '(?n)a.b'", []uint32{23}},
		{"director of a regular expression", "SELECT id FROM item WHERE name ~ '***=a.b'", []uint32{23}},
		{"back reference", `SELECT id FROM item WHERE name ~ '(a)\1'`, []uint32{23}},
		{"lookahead", "SELECT id FROM item WHERE name ~ '(?=a)b'", []uint32{23}},
		{"too many repetitions", "SELECT id FROM item WHERE name ~ '(a{20}){20}'", []uint32{23}},
		{"repeated anchor", "SELECT id FROM item WHERE name ~ '(^a)+'", []uint32{23}},
		{"empty regular expression", "SELECT id FROM item WHERE name ~ ''", []uint32{23}},
		{"letters beyond ASCII in any case", "SELECT id FROM item WHERE name ~* 'é'", []uint32{23}},
		{"the letter i in any case under a collation", "SELECT id FROM place WHERE turkish ~* 'i'", []uint32{23}},
		{"regular expression under two collations", "SELECT id FROM place WHERE german || localized ~ 'a'", []uint32{23}},
		{"SIMILAR TO with another escape", "SELECT id FROM item WHERE name SIMILAR TO 'a' ESCAPE '!'", []uint32{23}},
		{"array of several dimensions", "SELECT id FROM item WHERE id = ANY ('{{1,2},{3,4}}')", []uint32{23}},
		{"array with bounds", "SELECT id FROM item WHERE id = ANY ('[0:1]={1,2}')", []uint32{23}},
		{"escape in an array outside quotes", `SELECT id FROM item WHERE name = ANY ('{a\,b}')`, []uint32{23}},
		{"array of values that may fail", "SELECT id FROM item WHERE id = ANY (ARRAY[1, 1 / id])", []uint32{23}},
		{"array column", "SELECT id FROM item WHERE id = ANY (name)", []uint32{23}},
		{"window frame before its own start", "SELECT count(*) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING) FROM item", []uint32{20}},
		{"window frame after its own end", "SELECT count(*) OVER (ORDER BY id RANGE BETWEEN 2 FOLLOWING AND 1 FOLLOWING) FROM item", []uint32{20}},
		{"window frame of more rows than the engine counts", "SELECT count(*) OVER (ORDER BY id ROWS 2147483647 PRECEDING) FROM item", []uint32{20}},
		{"clock", "SELECT id FROM item WHERE made < now()", []uint32{23}},
		{"unknown table", "SELECT 1 FROM pg_class", []uint32{23}},
		{"locking", "SELECT id FROM item FOR UPDATE", []uint32{23}},
		{"volatile function", "SELECT random() FROM item", []uint32{701}},
		{"lateral", "SELECT 1 FROM item i, LATERAL (SELECT i.id UNION SELECT 2) x", []uint32{23}},
		{"recursive", "WITH RECURSIVE r AS (SELECT 1) SELECT id FROM item", []uint32{23}},
		{"relative date", "SELECT id FROM item WHERE made = 'today'", []uint32{23}},
		{"another type than described", "SELECT id FROM item", []uint32{20}},
		{"another number of columns", "SELECT id, name FROM item", []uint32{23}},
		{"IN over a char and a text", "SELECT id FROM item WHERE code IN (name, 'a')", []uint32{23}},
		{"IN over a char and a single text", "SELECT id FROM item WHERE code IN ('a '::text)", []uint32{23}},
		{"ANY of texts that chars order otherwise", "SELECT id FROM item WHERE code > ANY (SELECT posix::varchar FROM place)", []uint32{23}},
		{"DISTINCT ON with ties", "SELECT DISTINCT ON (name) id FROM item ORDER BY name, id FETCH FIRST 2 ROWS WITH TIES", []uint32{23}},
		{"column that the engine takes for a relation", `SELECT "null" FROM named`, []uint32{23}},
		{"WITH that picks rows, for a list that may hold NULLs", "WITH w AS (SELECT price FROM item LIMIT 1) SELECT id FROM item WHERE price NOT IN (SELECT price FROM w)", []uint32{23}},
		{"grouping sets over rows that are picked", "SELECT count(*) FROM (SELECT id FROM item ORDER BY price LIMIT 3) i GROUP BY ROLLUP(id)", []uint32{20}},
		{"WITH that picks rows, twice", "WITH w AS (SELECT id FROM item LIMIT 1) SELECT a.id FROM w a, w b", []uint32{23}},
		{"no tables", "SELECT 1", []uint32{23}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := translateText(t, tt.sql, tt.oids...)
			if _, ok := translate.AsUnsupported(err); !ok {
				t.Errorf("got plan %v and error %v, want Unsupported", plan, err)
			}
		})
	}
}

func TestTranslate_interpolatesOnlyAsTheServerRounds(t *testing.T) {
	tree, err := syntax.Parse("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM item")
	if err != nil {
		t.Fatal(err)
	}
	for _, unfused := range []bool{true, false} {
		env := translate.Env{Catalog: shop{}, TimeZone: "UTC", Traits: translate.Traits{UnfusedFloats: unfused}, Fields: []translate.Field{{TypeOID: 701}}}
		if _, err := translate.Translate(tree, env); (err == nil) != unfused {
			t.Errorf("with floats unfused %t: %v", unfused, err)
		}
	}
}

func TestTranslate_refusesZonesOtherThanUTC(t *testing.T) {
	tree, err := syntax.Parse("SELECT id FROM item WHERE seen >= '2024-01-01'")
	if err != nil {
		t.Fatal(err)
	}
	env := translate.Env{Catalog: shop{}, TimeZone: "Europe/Berlin", Fields: []translate.Field{{TypeOID: 23}}}
	if _, err := translate.Translate(tree, env); err == nil {
		t.Error("a timestamptz constant was read in UTC although the session is in Berlin")
	}
	env.TimeZone = "Etc/UTC"
	if _, err := translate.Translate(tree, env); err != nil {
		t.Errorf("in UTC: %v", err)
	}
}

func TestPlan_namesColumnsAndPointReads(t *testing.T) {
	plan, err := translateText(t, "SELECT quantity FROM line WHERE sale = 5 AND number = 2", 23)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.PointRead {
		t.Error("the whole key is bound, but it is no point read")
	}
	if got, want := plan.Relations[0].Columns, []int{0, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	plan, err = translateText(t, "SELECT count(*) FROM line WHERE sale = 5", 20)
	if err != nil {
		t.Fatal(err)
	}
	if plan.PointRead {
		t.Error("half a key makes a point read")
	}
}

func TestTranslate_keepsMarkersInStringsHarmless(t *testing.T) {
	plan, err := translateText(t, "SELECT id FROM item WHERE name = '\x01[0]\\'' r0.x'", 23)
	if err != nil {
		t.Fatal(err)
	}
	got := plan.SQL(func(int) string { return "T" })
	if want := "name` = '\x01[0]\\\\\\' r0.x'"; !strings.Contains(got, want) {
		t.Errorf("%q does not contain %q", got, want)
	}
}
