package translate_test

import "testing"

func TestTranslate_keepsTheOrderOfConditionsWhereASetMayBeLarge(t *testing.T) {
	const setting = "allow_reorder_prewhere_conditions"
	tests := []struct {
		name, sql, want string
	}{
		{"comparisons", "SELECT count(*) FROM sale s WHERE s.customer > 5 AND s.id < 7", "1"},
		{"a table that only filters", "SELECT count(*) FROM sale s, customer c WHERE s.customer = c.id AND c.name = 'a'", "1"},
		{"IN", "SELECT count(*) FROM sale s WHERE s.customer > 5 AND s.id IN (SELECT l.sale FROM line l)", "0"},
		{"IN of few rows", "SELECT count(*) FROM sale s WHERE s.customer > 5 AND s.customer IN (SELECT i.id FROM item i)", "1"},
		{"IN for few rows", "SELECT count(*) FROM item i WHERE i.name > 'a' AND i.id IN (SELECT l.item FROM line l)", "1"},
		{"EXISTS", "SELECT count(*) FROM sale s WHERE s.customer > 5 AND NOT EXISTS (SELECT FROM line l WHERE l.sale = s.id)", "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := translateText(t, tt.sql, 20)
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Settings[setting]; got != tt.want {
				t.Errorf("%s is %q, want %q", setting, got, tt.want)
			}
		})
	}
}
