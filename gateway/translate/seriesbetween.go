package translate

import (
	"fmt"
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/finish"
)

// seriesElements are the values of generate_series from and to values of a row.
func (q *query) seriesElements(f *pg.FuncCall) *unnested {
	args := q.seriesArguments(f)
	list, oid := q.seriesBetween(args)
	bounds := with(oid, "", args...)
	shown := func(element string) []*column {
		return []*column{{name: "generate_series", e: expr{oid: oid, sql: element, refs: bounds.refs, null: true, pad: -1}}}
	}
	list = "arrayMap(v -> toNullable(v), " + list + ")"
	return &unnested{list: list, refs: bounds.refs, fails: bounds.fails, shown: shown, name: "generate_series", scalar: true}
}

// seriesBetween is generate_series from and to what the engine computes: its array of the values, and their type. Steps are constants.
func (q *query) seriesBetween(args []expr) (list string, oid uint32) {
	if isMoment(args[0].oid) || isMoment(args[1].oid) {
		return q.momentsBetween(args)
	}
	oid, step := integersBetween(args)
	if !step.IsInt64() {
		fail("generate_series by this step")
	}
	first, last := q.coerce(args[0], oidInt8), q.coerce(args[1], oidInt8)
	return equidistant(first.sql, last.sql, step.Int64(), 1<<61, expr{oid: oid}.engineConversion()), oid
}

// integersBetween is the type of a series of integers, and its step.
func integersBetween(args []expr) (oid uint32, step *big.Int) {
	oid, step = oidInt4, big.NewInt(1)
	for _, a := range args {
		if !isInteger(a.oid) {
			fail("generate_series of this type")
		}
		if a.oid == oidInt8 {
			oid = oidInt8
		}
	}
	if len(args) == 3 {
		if args[2].lit == nil {
			fail("generate_series by a step that is not constant")
		}
		step = args[2].lit.integer
	}
	if step.Sign() == 0 {
		fail("step of zero")
	}
	return oid, step
}

// equidistant is the array of numbers from first on, as far as last, made by a conversion. Those beyond a bound are left to PostgreSQL.
func equidistant(first, last string, step, bound int64, conversion string) string {
	way := "last - first"
	if step < 0 {
		way = "first - last"
	}
	count := fmt.Sprintf("ifNull(if(%[1]s < 0, 0, intDiv(%[1]s, %[2]d) + 1), 0)", way, absolute(step))
	wrong := fmt.Sprintf("%s OR %s OR %s > %d", outside("first", -bound, bound), outside("last", -bound, bound), count, mostNumbers)
	numbers := "range(toUInt64(" + guarded(count, wrong, "series of too many values") + "))"
	return bind(fmt.Sprintf("arrayMap(n -> %s(ifNull(first, 0) + toInt64(%d) * toInt64(n)), %s)", conversion, step, numbers), "first", first, "last", last)
}

// momentsBetween are timestamps. PostgreSQL adds the step again and again: what comes of days and months is the same as by so many at once where no
// value is moved, by the end of a month or by clocks that are put forward.
func (q *query) momentsBetween(args []expr) (list string, oid uint32) {
	if len(args) != 3 {
		fail("generate_series of moments without a step")
	}
	oid = seriesType(args[0].oid, args[1].oid)
	zone, step := q.t.env.TimeZone, q.seriesStep(args[2])
	first, last := q.coerce(args[0], oid), q.coerce(args[1], oid)
	byClock := oid == oidTimestampTZ && !finish.IsUTC(zone) && (step.months != 0 || step.days != 0)
	ahead := signOf(step)
	from, to := first, last
	if byClock {
		// What two instants look like on clocks may be in the other order, but not by a day.
		from, to = q.t.local(first, zone), q.shift(q.t.local(last, zone), interval{days: int64(ahead)})
	}
	switch {
	case step.months != 0 && (step.days != 0 || step.micros != 0), byClock && step.micros != 0:
		fail("generate_series by a step of several units")
	case step.months != 0:
		list = q.monthsApart(from, to, step.months)
	default:
		list = equidistant(from.sql, to.sql, step.total(), maxArithmeticDay*microsPerDay, "toInt64")
	}
	if byClock {
		list = q.instants(list, first, zone)
	}
	if byClock || step.months != 0 {
		list = fmt.Sprintf("arrayFilter(at -> at %s (%s), %s)", map[int]string{1: "<=", -1: ">="}[ahead], last.sql, list)
	}
	return list, oid
}

// instants are when the clocks of a zone show some timestamps, of which the first is known. One that they do not show, or twice, is left to PostgreSQL.
func (q *query) instants(shown string, first expr, zone string) string {
	at := q.t.instant(expr{sql: "shown", oid: oidTimestamp, pad: -1}, zone)
	again := q.t.local(expr{sql: "at", oid: oidTimestampTZ, pad: -1}, zone)
	value := bind(guarded("at", again.sql+" != shown OR i = 1 AND at != ("+first.sql+")", "clocks that are changed"), "at", at.sql)
	return bind("arrayMap((shown, i) -> "+value+", list, arrayEnumerate(list))", "list", shown)
}

// The years within which a series of months is made, and the longest of its steps, so that all is within the days that the engine's functions know.
const (
	firstSeriesYear, lastSeriesYear = 1930, 2250
	longestSeriesStep               = 30 * 12
)

// monthsApart are timestamps that are some months from each other, from one on and at least as far as another.
func (q *query) monthsApart(from, to expr, step int64) string {
	if absolute(step) > longestSeriesStep {
		fail("generate_series by this step")
	}
	known := func(e expr) expr {
		e.sql, e.null, e.lit = "ifNull("+e.sql+", 0)", false, nil
		return e
	}
	number := func(date string) string { return "toInt64(toYear(" + date + ")) * 12 + toMonth(" + date + ")" }
	way := number("e") + " - " + number("d")
	if step < 0 {
		way = number("d") + " - " + number("e")
	}
	count := fmt.Sprintf("if(absent OR %[1]s < 0, 0, intDiv(%[1]s, %[2]d) + 1)", way, absolute(step))
	wrong := "toDayOfMonth(d) > 28 OR " + outside("toYear(d)", firstSeriesYear, lastSeriesYear) + " OR " + outside("toYear(e)", firstSeriesYear, lastSeriesYear)
	numbers := "range(toUInt64(" + guarded(count, wrong, "series of months") + "))"
	body := fmt.Sprintf("arrayMap(n -> toInt64(toInt32(addMonths(d, toInt64(%d) * toInt64(n)))) * %d + t, %s)", step, int64(microsPerDay), numbers)
	return bind(body, "d", q.calendar(known(from)), "t", q.timeOfDay(known(from)), "e", q.calendar(known(to)),
		"absent", "isNull("+from.sql+") OR isNull("+to.sql+")")
}
