package translate

import (
	"fmt"
	"math/big"
	"time"
)

// The years within which make_date is computed here.
const (
	firstMadeYear = 1900
	lastMadeYear  = 2298
)

// makeDate is make_date. PostgreSQL refuses a day that there is not.
func makeDate(q *query, _ string, args []expr) expr {
	constant := true
	parts := make([]int, len(args))
	for i, a := range args {
		args[i] = q.asInt(a)
		n, ok := args[i].constantFrom(-1 << 31)
		constant, parts[i] = constant && ok, int(n)
	}
	if constant {
		day := time.Date(parts[0], time.Month(parts[1]), parts[2], 0, 0, 0, 0, time.UTC)
		if y, m, d := day.Date(); y < firstMadeYear || y > lastMadeYear || y != parts[0] || int(m) != parts[1] || d != parts[2] {
			fail("date that there is not, or is far away")
		}
		return integerLiteral(oidDate, big.NewInt(day.Unix()/(microsPerDay/microsPerSecond)))
	}
	e := with(oidDate, "", args...)
	e.fails = true
	bad := fmt.Sprintf("NOT (y BETWEEN %d AND %d AND toYear(x) = y AND toMonth(x) = m AND toDayOfMonth(x) = d)", firstMadeYear, lastMadeYear)
	body := guarded("toInt32(x)", bad, "date that there is not")
	e.sql = bind(bind(body, "x", "makeDate32(y, m, d)", "y", "y", "m", "m", "d", "d"), "y", args[0].sql, "m", args[1].sql, "d", args[2].sql)
	return e
}
