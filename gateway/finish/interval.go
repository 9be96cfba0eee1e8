package finish

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/proto"
)

// interval is PostgreSQL's.
type interval struct {
	months, days int32
	micros       int64
}

// durationOf is the difference of two timestamps: whole days and a rest of the same sign (timestamp_mi in PostgreSQL's timestamp.c).
func durationOf(micros int64) interval {
	return interval{days: int32(micros / microsPerDay), micros: micros % microsPerDay}
}

// intervalTexts write intervals under each IntervalStyle that is handled.
var intervalTexts = map[string]func(dst []byte, v interval) []byte{
	"": textInterval, "postgres": textInterval, "iso_8601": isoInterval,
}

func (s Style) intervalWriter(binary bool) func(dst []byte, v interval) []byte {
	return pick(binary, binaryInterval, intervalTexts[s.IntervalStyle])
}

// textInterval writes an interval as EncodeInterval in PostgreSQL's datetime.c does under IntervalStyle postgres.
func textInterval(dst []byte, v interval) []byte {
	start, negative := len(dst), false // negative: the unit before is, which every other one tells by a sign then
	for _, unit := range []struct {
		n    int32
		name string
	}{{v.months / 12, " year"}, {v.months % 12, " mon"}, {v.days, " day"}} {
		if unit.n == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if negative && unit.n > 0 {
			dst = append(dst, '+')
		}
		dst = append(strconv.AppendInt(dst, int64(unit.n), 10), unit.name...)
		if unit.n != 1 {
			dst = append(dst, 's')
		}
		negative = unit.n < 0
	}
	if len(dst) > start {
		if v.micros == 0 {
			return dst
		}
		dst = append(dst, ' ')
	}
	rest := v.micros
	switch {
	case rest < 0:
		dst, rest = append(dst, '-'), -rest
	case negative:
		dst = append(dst, '+')
	}
	if hours := rest / (3600 * microsPerSecond); hours > 99 { // of a sum
		dst = strconv.AppendInt(dst, hours, 10)
		return append(dst, textTime(nil, rest%(3600*microsPerSecond))[2:]...)
	}
	return textTime(dst, rest)
}

// isoInterval is textInterval under IntervalStyle iso_8601, which Rails sets in every session.
func isoInterval(dst []byte, v interval) []byte {
	if v == (interval{}) {
		return append(dst, "PT0S"...)
	}
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(strconv.AppendInt(dst, n, 10), unit)
		}
	}
	dst = append(dst, 'P')
	part(int64(v.months/12), 'Y')
	part(int64(v.months%12), 'M')
	part(int64(v.days), 'D')
	if v.micros == 0 {
		return dst
	}
	dst = append(dst, 'T')
	minutes := v.micros / (60 * microsPerSecond)
	part(minutes/60, 'H')
	part(minutes%60, 'M')
	rest := v.micros % (60 * microsPerSecond)
	if rest == 0 {
		return dst
	}
	if rest < 0 {
		dst, rest = append(dst, '-'), -rest
	}
	dst = strconv.AppendInt(dst, rest/microsPerSecond, 10)
	return append(appendFraction(dst, rest%microsPerSecond), 'S')
}

func binaryInterval(dst []byte, v interval) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.micros))
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.days))
	return binary.BigEndian.AppendUint32(dst, uint32(v.months))
}

// addIntervalSum adds a column of sums or averages of intervals, or of intervals that are told by their parts.
func (d *Decoder) addIntervalSum(write func(dst []byte, v interval) []byte) {
	values := new(proto.ColStr)
	col := proto.NewColNullable[string](values)
	d.target(col)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		if col.Nulls[i] != 0 {
			return dst, false, nil
		}
		v, err := readInterval(string(values.RowBytes(i)))
		if err != nil {
			return nil, false, err
		}
		return write(dst, v), true, nil
	})
}

// readInterval reads the parts of an interval, which follow a P, or a sum.
func readInterval(text string) (interval, error) {
	parts, ok := strings.CutPrefix(text, "P ")
	if !ok {
		return readIntervalSum(text)
	}
	var v interval
	if _, err := fmt.Sscan(parts, &v.months, &v.days, &v.micros); err != nil {
		return interval{}, fmt.Errorf("%w: parts of an interval: %w", errIntervalRange, err)
	}
	return v, nil
}

// readIntervalSum reads days, microseconds, the days without their signs and, of an average, the number of intervals.
func readIntervalSum(text string) (interval, error) {
	parts := strings.Fields(text)
	if len(parts) != 3 && len(parts) != 4 {
		return interval{}, fmt.Errorf("read a sum of intervals: %d numbers", len(parts))
	}
	numbers := make([]int64, len(parts))
	for i, p := range parts {
		var err error
		if numbers[i], err = strconv.ParseInt(p, 10, 64); err != nil {
			return interval{}, fmt.Errorf("%w: a sum of intervals: %w", errIntervalRange, err)
		}
	}
	if numbers[2] > math.MaxInt32 { // PostgreSQL may have failed on the way
		return interval{}, errIntervalRange
	}
	sum := interval{days: int32(numbers[0]), micros: numbers[1]}
	if len(numbers) == 3 {
		return sum, nil
	}
	return sum.divide(float64(numbers[3])), nil
}

// divide is interval_div in PostgreSQL's timestamp.c. The conversions keep the compiler from multiplying and adding at once.
func (v interval) divide(by float64) interval {
	days := float64(v.days) / by
	out := interval{days: int32(days)}
	rest := toMicros(float64((days - float64(out.days)) * 86400))
	if math.Abs(rest) >= 86400 {
		whole := int32(rest / 86400)
		out.days += whole
		rest -= float64(whole) * 86400
	}
	out.micros = int64(math.RoundToEven(float64(float64(v.micros)/by) + float64(rest*microsPerSecond)))
	return out
}

// toMicros rounds seconds to microseconds (TSROUND).
func toMicros(seconds float64) float64 { return math.RoundToEven(seconds*1e6) / 1e6 }
