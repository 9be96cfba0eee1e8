package translate_test

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// sales is a catalog of one table, whose database may order strings by their bytes or not.
type sales struct{ bytewise bool }

const (
	oidKind      = 16500
	oidKindArray = 16499
)

func (s sales) Table(_ []string, _, name string) (*cdc.Table, bool) {
	column := func(attr int16, name string, oid uint32, mod int32) cdc.Column {
		return cdc.Column{Name: name, Type: oid, Modifier: mod, Attr: attr, NotNull: attr == 1, Enum: oid == oidKind}
	}
	t := &cdc.Table{ID: 1, Schema: "public", Name: "sale", Key: []int{0}, Columns: []cdc.Column{
		column(1, "id", 23, -1), column(2, "at", 1114, -1), column(3, "kind", oidKind, -1), column(4, "doc", 3802, -1), column(5, "country", 1042, 4+2),
		column(6, "amount", 1700, numeric12d2), column(7, "name", 25, -1), column(8, "german", 25, -1), column(9, "plain", 25, -1),
	}}
	t.Columns[4].Collate(cdc.DefaultCollation, s.bytewise)
	t.Columns[6].Collate(cdc.DefaultCollation, s.bytewise)
	t.Columns[7].Collate(`pg_catalog."de-x-icu"`, false)
	t.Columns[8].Collate(`pg_catalog."C"`, true)
	return t, name == "sale"
}

// runs says whether a count over the table with a condition is translated.
func (s sales) runs(t *testing.T, condition string, oids []uint32, params ...translate.Param) bool {
	t.Helper()
	tree, err := syntax.Parse("SELECT count(*) FROM sale WHERE " + condition)
	if err != nil {
		t.Fatal(err)
	}
	kind := &translate.Enum{OID: oidKind, Labels: map[string]bool{"a": true, "it's": true}}
	env := translate.Env{
		Catalog: s, SearchPath: []string{"public"}, TimeZone: "UTC", Traits: translate.Traits{BytewiseCollation: s.bytewise}, Fields: []translate.Field{{TypeOID: 20, Modifier: -1}}, ParamOIDs: oids, Params: params,
		Enums: map[translate.EnumRef]*translate.Enum{
			{Name: "kind"}: kind, {Schema: "app", Name: "kind"}: kind, {OID: oidKind}: kind, {OID: oidKindArray}: kind, {Name: "xml"}: nil, {OID: 16600}: nil,
		},
	}
	_, err = translate.Translate(tree, env)
	if _, ok := translate.AsUnsupported(err); err != nil && !ok {
		t.Fatalf("%s: %v", condition, err)
	}
	return err == nil
}

func TestTranslate_ordersComputedTextByTheDatabasesCollation(t *testing.T) {
	for _, tt := range []struct {
		text              string
		bytewise, another bool // whether it is ordered in a database of such a collation
	}{
		{"to_char(at, 'YYYY-MM')", true, false}, {"id::text", true, false}, {"doc->>'a'", true, false}, {"kind::text", true, false}, {"CASE WHEN id > 5 THEN 'high' ELSE 'low' END", true, false},
		{"name", true, false}, {"coalesce(name, id::text)", true, false}, {"(id::text COLLATE \"C\")", true, true}, {"plain", true, true}, {"plain || id", true, true}, {"coalesce(doc->>'a', plain)", true, true},
		{"german", false, false}, {"german || id", false, false}, {"CASE WHEN id > 5 THEN 'high' ELSE german END", false, false}, {"left(german, 2)", false, false}, {"concat(id, german)", false, false},
		{"CASE WHEN id > 5 THEN 'high' ELSE german || NULL END", false, false}, {"nullif('a', german)", false, false}, {"(SELECT max(s.german || '') FROM sale s)", false, false},
		{"(SELECT x FROM (SELECT german AS x FROM sale UNION ALL SELECT id::text FROM sale) y LIMIT 1)", false, false},
	} {
		for _, bytewise := range []bool{true, false} {
			want := tt.another
			if bytewise {
				want = tt.bytewise
			}
			if got := (sales{bytewise}).runs(t, tt.text+" >= 'b'", nil); got != want {
				t.Errorf("%s in a database whose collation is bytewise %t: translated %t, want %t", tt.text, bytewise, got, want)
			}
		}
	}
}

func TestTranslate_takesWhatViewsAndDriversWrite(t *testing.T) {
	label := func(s string) []translate.Param { return []translate.Param{{Value: []byte(s)}} }
	for _, tt := range []struct {
		condition string
		oid       uint32
		params    []translate.Param
		want      bool
	}{
		{"kind = 'a'::kind", 0, nil, true}, {"kind = ANY (ARRAY['a'::app.kind, 'it''s'])", 0, nil, true}, {"coalesce(kind, 'a') = CAST('a' AS kind)", 0, nil, true}, {"kind = 'b'::kind", 0, nil, false}, {"kind > 'a'::kind", 0, nil, false},
		{"kind = 'a'::text::kind", 0, nil, true}, {"kind = 'a'::unknown_type", 0, nil, false}, {"'a'::xml IS NULL", 0, nil, false}, {"name = 'a'::kind", 0, nil, false},
		{"kind = $1", oidKind, label("it's"), true}, {"kind IN ($1, 'a')", oidKind, []translate.Param{{Format: 1, Value: []byte("a")}}, true}, {"kind = $1", oidKind, []translate.Param{{Null: true}}, true}, {"kind = $1", oidKind, label("A"), false}, {"kind = $1", 16600, label("a"), false},
		{"kind = ANY ($1)", oidKindArray, label("{a,NULL}"), true}, {"kind = ANY ($1)", oidKindArray, label("{a,b}"), false},
		{"doc @> $1", 3802, label(`{"a": "é"}`), true}, {"doc @> $1", 3802, []translate.Param{{Format: 1, Value: []byte("\x01{\"a\": 1}")}}, true}, {"doc @> $1", 3802, label(`{"a": 1}}`), false}, {"doc @> $1", 3802, label(`{"a": "\u0041"}`), false}, {"doc @> $1", 3802, []translate.Param{{Null: true}}, false},
		{"at > timestamp '2024-01-01' - '3 mons'::interval month", 0, nil, true}, {"at > timestamp '2024-01-01' - '1 day 02:03:04'::interval day to second", 0, nil, true}, {"at > timestamp '2024-01-01' - '1-2'::interval year to month", 0, nil, true},
		{"at > timestamp '2024-01-01' - interval '02:03' minute to second", 0, nil, false}, {"at > timestamp '2024-01-01' - interval '1.26' second(1)", 0, nil, false}, {"at > timestamp '2024-01-01' - interval '1-12'", 0, nil, false},
		{"to_char(at, 'YYYY-MM-01 HH24:00') = 'x'", 0, nil, true}, {"to_char(at, 'YYYY年') = 'x'", 0, nil, true}, {"to_char(at, 'DD1TH') = 'x'", 0, nil, false}, {`to_char(at, 'YYYY\MM') = 'x'`, 0, nil, false}, {"to_char(at, '12') = 'x'", 0, nil, false},
		{"round(amount, -2) > 1", 0, nil, true}, {"trunc(id, -1) > 1", 0, nil, true}, {"round(amount, -31) > 1", 0, nil, false},
		{"(SELECT coalesce(country, 'none') FROM sale GROUP BY 1 LIMIT 1) = 'x'", 0, nil, true}, {"length(country) IN (SELECT length(concat(coalesce(country, 'none'))) FROM sale GROUP BY coalesce(country, 'none'))", 0, nil, true},
	} {
		if got := (sales{true}).runs(t, tt.condition, []uint32{tt.oid}, tt.params...); got != tt.want {
			t.Errorf("%s: translated %t, want %t", tt.condition, got, tt.want)
		}
	}
}

func TestTranslate_asksForTypesThatItDoesNotKnow(t *testing.T) {
	tree, err := syntax.Parse("SELECT count(*) FROM sale WHERE kind = 'a'::app.kind")
	if err != nil {
		t.Fatal(err)
	}
	_, err = translate.Translate(tree, translate.Env{Catalog: sales{}, TimeZone: "UTC", Fields: []translate.Field{{TypeOID: 20, Modifier: -1}}})
	refused, ok := translate.AsUnsupported(err)
	if want := (translate.EnumRef{Schema: "app", Name: "kind"}); !ok || refused.Enum == nil || *refused.Enum != want {
		t.Errorf("got %v, want a question for %v", err, want)
	}
}
