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

// What is too deep for the engine is refused before it is translated, which takes the longer the deeper it is: a sum of 3000 summands took seconds.
func TestTranslate_refusesExpressionsOfManyLevels(t *testing.T) {
	const levels = 3000
	for _, value := range []string{
		"id" + strings.Repeat(" + id", levels), "weight" + strings.Repeat(" - weight", levels), strings.Repeat("abs(", levels) + "id" + strings.Repeat(")", levels),
		"count(*)" + strings.Repeat(" + count(*)", levels),
	} {
		_, err := translateText(t, "SELECT "+value+" FROM item", 23)
		if refused, ok := translate.AsUnsupported(err); !ok || refused.Reason != "expression of so many levels" {
			t.Errorf("%.40s…: got %.200v, want it refused for its levels", value, err)
		}
	}
	for value, oid := range map[string]uint32{"name" + strings.Repeat(" || name", 300): 25, "id IN (1" + strings.Repeat(", 2", levels) + ")": 16, "id = 1" + strings.Repeat(" OR id = 2", levels): 16} {
		if _, err := translateText(t, "SELECT "+value+" FROM item", oid); err != nil {
			t.Errorf("%.40s…: %v", value, err)
		}
	}
}
