package server_test

import (
	"fmt"
	"testing"
)

// Of a text with letters beyond ASCII the replica knows whether its lower or upper case is a text of ASCII, or is like one.
func TestGateway_looksForASCIIInTextsBeyondIt(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE person (id int PRIMARY KEY, name text, code varchar(20), short char(9));
		INSERT INTO person SELECT i, s, s, left(s, 9) FROM (VALUES (1, 'Jörg Müller'), (2, 'bob'), (3, 'BOB Ärzte'), (4, 'Ünsal BoB'), (5, ''), (6, NULL), (7, 'αβγ Bob ΣΣ'), (8, 'ööö'), (9, 'straße'), (10, 'a_b%ÄC')) v(i, s)`)
	columnar, oltp := g.routes()
	conditions := []string{
		"%[1]s ILIKE '%%bob%%'", "%[1]s NOT ILIKE '%%BOB%%'", "%[1]s ILIKE 'J_rg m_LLer'", "%[1]s ILIKE '___'", "%[1]s ILIKE '%%\\_B\\%%_c%%'", "%[1]s ILIKE ANY (ARRAY['%%bob', 'str%%'])",
		"upper(%[1]s::text) LIKE upper('%%bob%%')", "lower(%[1]s) LIKE lower('BOB%%')", "lower(%[1]s) = 'bob'", "upper(%[1]s) = upper('Bob')", "lower(%[1]s) <> 'bob'", "'bob' = lower(%[1]s)",
		"lower(%[1]s) IN ('bob', 'x')", "upper(%[1]s) NOT IN ('BOB', 'x', 'bob')", "lower(%[1]s) LIKE '%%BOB%%'", "lower(%[1]s) ILIKE 'BoB'", "upper(%[1]s) LIKE '%%'",
	}
	for _, column := range []string{"name", "code", "short"} {
		for _, c := range conditions {
			wantSameAnswer(t, columnar, oltp, "SELECT id FROM person WHERE "+fmt.Sprintf(c, column)+" ORDER BY id")
		}
	}
	wantSameAnswer(t, columnar, oltp, "SELECT lower('ABC'), upper('x' || 'y'), count(*) FROM person")
	auto := g.client() // which sees what it writes
	exec(t, auto, "INSERT INTO person VALUES (11, 'groß')")
	wantSameAnswer(t, auto, oltp, `SELECT id FROM person WHERE upper(name COLLATE "de-x-icu") COLLATE "default" LIKE '%SS' ORDER BY id`)
	for _, stray := range []string{"K", "İ", "ı", "ſ", "ß", "ﬁ", "ŉ"} { // the first is the sign for kelvin
		exec(t, auto, "UPDATE person SET name = '"+stray+"', code = name, short = 'a' WHERE id = 9")
		for _, sql := range []string{
			"SELECT id FROM person WHERE name ILIKE '%k%' OR name ILIKE '%i%' ORDER BY id", "SELECT id FROM person WHERE upper(name) IN ('I', 'S', 'SS', 'FI') ORDER BY id", "SELECT id FROM person WHERE upper(name) LIKE '__' ORDER BY id",
			"SELECT id FROM person WHERE lower(name) IN ('k', 'i') ORDER BY id", "SELECT id FROM person WHERE name ILIKE '_' ORDER BY id",
		} {
			wantSameAnswer(t, auto, oltp, sql)
		}
	}
}
