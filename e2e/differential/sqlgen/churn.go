package sqlgen

import "fmt"

// Churn returns statements that change the rows of all tables: updates, deletes and
// reinsertions of what was deleted, chosen by n. Keys, types and the pools of values stay.
func (w *World) Churn(n uint64) []string {
	var out []string
	for i, t := range w.Tables {
		table := w.Schema + "." + QuoteIdent(t.Name)
		key := QuoteIdent(t.Columns[t.Key[0]].Name)
		chosen := fmt.Sprintf("abs(hashtext(%s::text)::bigint + %d) %% 7 = %d", key, n, i%7)
		switch (n/3 + uint64(i)) % 3 {
		case 0:
			out = append(out, fmt.Sprintf("UPDATE %s SET ref_a = ref_a + 1, ref_b = coalesce(ref_b, 0) WHERE %s", table, chosen))
		case 1:
			out = append(out, fmt.Sprintf("DELETE FROM %s WHERE %s", table, chosen))
		default:
			out = append(out, fmt.Sprintf("BEGIN; CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM %[1]s WHERE %[2]s; DELETE FROM %[1]s WHERE %[3]s IN (SELECT %[3]s FROM kept); INSERT INTO %[1]s SELECT * FROM kept; COMMIT",
				table, chosen, key))
		}
	}
	return out
}
