package translate_test

import (
	"strings"
	"testing"
)

func TestTranslate_aggregatesDetailsEarly(t *testing.T) {
	const joined = " FROM line l, sale s, customer c WHERE l.sale = s.id AND s.customer = c.id"
	tests := []struct {
		name, sql string
		oids      []uint32
		early     bool
		grouped   int // times that rows are grouped
	}{
		{"by the master's key", "SELECT s.id, c.name, sum(quantity)" + joined + " GROUP BY s.id, c.name", []uint32{20, 25, 20}, true, 1},
		{"by the details' reference", "SELECT l.sale, count(*)" + joined + " GROUP BY l.sale", []uint32{20, 20}, true, 1},
		{"by what masters share", "SELECT c.name, count(*), avg(quantity)" + joined + " GROUP BY c.name", []uint32{25, 20, 1700}, true, 2},
		{"all together", "SELECT count(quantity), min(l.at)" + joined, []uint32{20, 1114}, true, 1},
		{"with a condition on details", "SELECT c.name, count(*)" + joined + " AND l.quantity > 1 GROUP BY c.name", []uint32{25, 20}, true, 2},
		{"with a filter", "SELECT s.id, count(*) FILTER (WHERE quantity > 1)" + joined + " GROUP BY s.id", []uint32{20, 20}, true, 1},
		{"with an extreme of the master", "SELECT c.name, sum(quantity), max(s.day)" + joined + " GROUP BY c.name", []uint32{25, 20, 1082}, true, 2},
		{"with a constant condition", "SELECT c.name, count(*)" + joined + " AND 1 IN (1) GROUP BY c.name", []uint32{25, 20}, true, 2},
		{"sum over the master", "SELECT c.name, sum(length(c.name))" + joined + " GROUP BY c.name", []uint32{25, 20}, false, 1},
		{"sum over both", "SELECT c.name, sum(l.quantity + c.id)" + joined + " GROUP BY c.name", []uint32{25, 20}, false, 1},
		{"distinct values", "SELECT c.name, count(DISTINCT quantity)" + joined + " GROUP BY c.name", []uint32{25, 20}, true, 2},
		{"distinct values with a filter", "SELECT s.id, count(DISTINCT quantity) FILTER (WHERE l.at IS NOT NULL)" + joined + " GROUP BY s.id", []uint32{20, 20}, true, 1},
		{"distinct texts", "SELECT s.id, count(DISTINCT l.sale::text)" + joined + " GROUP BY s.id", []uint32{20, 20}, false, 1},
		{"negated condition on the last master", "SELECT c.name, count(*)" + joined + " AND c.name NOT LIKE 'a%' GROUP BY c.name", []uint32{25, 20}, true, 2},
		{"by another column of the details", "SELECT l.at, count(*)" + joined + " GROUP BY l.at", []uint32{1114, 20}, false, 1},
		{"condition on master and details", "SELECT c.name, count(*)" + joined + " AND l.at < s.day GROUP BY c.name", []uint32{25, 20}, true, 2},
		{"condition on the last master", "SELECT c.name, count(*)" + joined + " AND c.name > 'a' GROUP BY c.name", []uint32{25, 20}, false, 1},
		{"condition on the last master and details", "SELECT s.id, count(*)" + joined + " AND l.quantity < c.id GROUP BY s.id", []uint32{20, 20}, false, 1},
		{"few details", "SELECT c.name, count(*) FROM sale s, customer c WHERE s.customer = c.id GROUP BY c.name", []uint32{25, 20}, false, 1},
		{"outer join", "SELECT s.day, count(*) FROM line l LEFT JOIN sale s ON l.sale = s.id GROUP BY s.day", []uint32{1082, 20}, false, 1},
		{"two masters", "SELECT s.day, i.name, count(*) FROM line l, sale s, item i WHERE l.sale = s.id AND l.item = i.id GROUP BY s.day, i.name", []uint32{1082, 25, 20}, false, 1},
		{"part of a key", "SELECT l.number, count(*) FROM line l, line m WHERE l.sale = m.sale GROUP BY l.number", []uint32{21, 20}, false, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := translateText(t, tt.sql, tt.oids...)
			if err != nil {
				t.Fatal(err)
			}
			sql := plan.SQL(func(i int) string { return plan.Relations[i].Table.Name })
			if early := strings.Contains(sql, " AS p1"); early != tt.early {
				t.Errorf("early: %v, want %v\n%s", early, tt.early, sql)
			}
			if grouped := strings.Count(sql, " GROUP BY "); grouped != tt.grouped {
				t.Errorf("%d groupings, want %d\n%s", grouped, tt.grouped, sql)
			}
		})
	}
}
