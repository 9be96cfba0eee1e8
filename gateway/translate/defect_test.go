package translate_test

import (
	"strings"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

func BenchmarkTranslate(b *testing.B) {
	const sql = "SELECT i.name, sum(l.quantity), avg(i.price) FROM line l JOIN item i ON i.id = l.item WHERE l.at >= '2024-01-01' AND i.name LIKE 'a%' GROUP BY i.name ORDER BY 2 DESC LIMIT 10"
	env := translate.Env{Catalog: shop{}, TimeZone: "UTC", Fields: []translate.Field{{TypeOID: 25}, {TypeOID: 20}, {TypeOID: 1700}}}
	for b.Loop() {
		tree, err := syntax.Parse(sql)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := translate.Translate(tree, env); err != nil {
			b.Fatal(err)
		}
	}
}

// A defect of the translation is told, and PostgreSQL answers.
func TestTranslate_refusesWhatItFailsOn(t *testing.T) {
	tree, err := syntax.Parse("SELECT a.id FROM item a JOIN line b ON b.item = a.id")
	if err != nil {
		t.Fatal(err)
	}
	env := translate.Env{Catalog: shop{}, TimeZone: "UTC", Fields: []translate.Field{{TypeOID: 23}}, Rows: func(cdc.TableID) int64 { panic("nobody counted") }}
	_, err = translate.Translate(tree, env)
	if refused, ok := translate.AsUnsupported(err); !ok || !strings.HasPrefix(refused.Defect, "nobody counted\n") {
		t.Errorf("got %v, want a defect", err)
	}
}
