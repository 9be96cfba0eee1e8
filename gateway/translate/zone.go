package translate

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/finish"
	"github.com/freshet-io/freshet/gateway/timezone"
)

const microsPerSecond = 1_000_000

// zone returns the rules of a zone that is not UTC.
func (t *translator) zone(name string) *timezone.Zone {
	z, ok := t.env.Zones[name]
	if !ok {
		panic(&Unsupported{Reason: "time zone arithmetic outside UTC", Zone: name})
	}
	if z == nil {
		fail("time zone that the source does not tell of")
	}
	return z
}

// local is what clocks in a zone show at an instant: a timestamp.
func (t *translator) local(e expr, zone string) expr {
	if finish.IsUTC(zone) || e.isNull() {
		e.oid = oidTimestamp
		return e.plain()
	}
	z := t.zone(zone)
	if e.lit != nil {
		micros := microsOf(e)
		offset, ok := z.Offset(timezone.Second(micros))
		if !ok {
			fail("timestamp outside of what is known of the time zone")
		}
		return integerLiteral(oidTimestamp, big.NewInt(micros+offset*microsPerSecond))
	}
	return with(oidTimestamp, once(e.sql, func(at string) string {
		return guarded(fmt.Sprintf("(%s + %s)", at, offsetAt(z, at)), outsideZone(at, 0), "timestamp outside of its zone's rules")
	}), e)
}

// instant is when clocks in a zone show a timestamp, by the rule of [timezone.Zone.Instant].
func (t *translator) instant(e expr, zone string) expr {
	if finish.IsUTC(zone) || e.isNull() {
		e.oid = oidTimestampTZ
		return e.plain()
	}
	z := t.zone(zone)
	if e.lit != nil {
		micros := microsOf(e)
		second := timezone.Second(micros)
		at, ok := z.Instant(second)
		if !ok {
			fail("timestamp outside of what is known of the time zone")
		}
		return integerLiteral(oidTimestampTZ, big.NewInt(micros+(at-second)*microsPerSecond))
	}
	return with(oidTimestampTZ, once(e.sql, func(shown string) string {
		before, after := offsetAt(z, fmt.Sprintf("(%s - %d)", shown, microsPerDay)), offsetAt(z, fmt.Sprintf("(%s + %d)", shown, microsPerDay))
		sql := fmt.Sprintf("(%s - if(%s = %s, %[3]s, %[4]s))", shown, offsetAt(z, fmt.Sprintf("(%s - %s)", shown, after)), after, before)
		return guarded(sql, outsideZone(shown, 2*microsPerDay), "timestamp outside of its zone's rules")
	}), e)
}

// longText is from where on an expression is not repeated, in bytes: what depends on it would be repeated with it, again and again.
const longText = 500

// once writes a text with an expression in it that it uses several times.
func once(sql string, write func(name string) string) string {
	if len(writeMarked(sql)) < longText {
		return write(sql)
	}
	return bind(write("x"), "x", sql)
}

// offsetAt is a zone's offset at an instant, in microseconds.
func offsetAt(z *timezone.Zone, sql string) string {
	if !z.Engine {
		fail("time zone whose rules the engine has otherwise")
	}
	return fmt.Sprintf("toInt64(timeZoneOffset(toDateTime(intDiv(%s, %d), %s))) * %[2]d", sql, microsPerSecond, quote(z.Name))
}

// outsideZone says that an instant, or a time on a zone's clocks, is not that far inside of what zones' rules are known for.
func outsideZone(sql string, margin int64) string {
	return outside(sql, cdc.FirstOffset*microsPerSecond+margin, cdc.LastOffset*microsPerSecond-1-margin)
}

func microsOf(e expr) int64 {
	if !e.lit.integer.IsInt64() {
		fail("timestamp constant out of range")
	}
	return e.lit.integer.Int64()
}

// clocked is a timestamp as the session's clocks show it: one with a time zone becomes one without.
func (q *query) clocked(e expr) expr {
	if e.oid == oidTimestampTZ {
		return q.t.local(e, q.t.env.TimeZone)
	}
	return e
}

// zoneName is the zone that a constant names, by its region or as UTC.
func (q *query) zoneName(e expr) string {
	zone, ok := e.constantText()
	if !ok {
		fail("time zone that is not constant")
	}
	switch session := q.t.env.TimeZone; {
	case finish.IsUTC(zone) && (finish.IsUTC(session) || strings.Contains(session, "/") && !strings.ContainsAny(session, ",<")):
	case !strings.Contains(zone, "/"): // an abbreviation perhaps, and what that means depends on the session's zone
		fail("time zone that is not named by its region")
	}
	return zone
}

// atTimeZone is AT TIME ZONE: it makes a timestamp with time zone one without, and the other way round.
func atTimeZone(q *query, _ string, args []expr) expr {
	zone, x := q.zoneName(args[0]), args[1]
	switch x.oid {
	case oidTimestampTZ:
		return q.t.local(x, zone)
	case oidTimestamp:
		return q.t.instant(x, zone)
	}
	fail("AT TIME ZONE of this type")
	return expr{}
}
