package sqlgen

import (
	"fmt"
	"strings"
)

// groupingSets writes keys as GROUPING SETS, ROLLUP or CUBE.
func (g *gen) groupingSets(keys []string) string {
	all := strings.Join(keys, ", ")
	switch g.weighted(3, 2, 3, 2) {
	case 0:
		g.use("rollup, cube")
		return "ROLLUP(" + all + ")"
	case 1:
		g.use("rollup, cube")
		return "CUBE(" + all + ")"
	case 2:
		g.use("grouping sets")
		var sets []string
		for range 1 + g.weighted(1, 3, 2) {
			var set []string
			for _, k := range keys {
				if g.chance(0.6) {
					set = append(set, k)
				}
			}
			sets = append(sets, "("+strings.Join(set, ", ")+")")
		}
		if g.chance(0.3) {
			sets = append(sets, "ROLLUP("+all+")")
		}
		return "GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	default:
		g.use("rollup, cube")
		if len(keys) == 1 {
			return "ROLLUP((" + all + "), " + all + ")"
		}
		return fmt.Sprintf("%s, %s(%s)", keys[0], g.one("ROLLUP", "CUBE"), strings.Join(keys[1:], ", "))
	}
}

// grouping writes GROUPING of some of the keys.
func (g *gen) grouping(keys []expr) expr {
	g.use("grouping")
	var args []string
	for _, k := range keys {
		if g.chance(0.7) {
			args = append(args, k.sql)
		}
	}
	if len(args) == 0 {
		args = append(args, keys[0].sql)
	}
	return expr{sql: "GROUPING(" + strings.Join(args, ", ") + ")", t: intType(Int4, 7)}
}
