package timezone

import (
	"sort"

	"github.com/freshet-io/freshet/connectors/cdc"
)

const day = 86_400

// Zone has the offsets of a time zone from [cdc.FirstOffset] to [cdc.LastOffset]. It is immutable.
type Zone struct {
	// Name is the zone's, for the source and the engine.
	Name string
	// Engine says that the engine has the same offsets.
	Engine  bool
	offsets []cdc.Offset
}

// New returns a zone of the offsets that a source told, in their order.
func New(name string, offsets []cdc.Offset, engine bool) *Zone {
	return &Zone{Name: name, Engine: engine, offsets: offsets}
}

// Second is the second, since 1970, that a time in microseconds since 1970 lies in.
func Second(micros int64) int64 {
	const unit = 1_000_000
	if micros%unit < 0 { // division rounds up before 1970
		return micros/unit - 1
	}
	return micros / unit
}

// Offset returns by how many seconds the zone's clocks are ahead of UTC at an instant, in seconds since 1970 UTC; false outside the zone's span.
func (z *Zone) Offset(instant int64) (int64, bool) {
	if instant < cdc.FirstOffset || instant >= cdc.LastOffset {
		return 0, false
	}
	i := sort.Search(len(z.offsets), func(i int) bool { return z.offsets[i].From > instant })
	if i == 0 {
		return 0, false
	}
	return int64(z.offsets[i-1].Seconds), true
}

// Instant returns the instant at which the zone's clocks show a time, both in seconds since 1970; false outside the zone's span. Of a time that
// they skip or show twice it is what PostgreSQL takes: by the offset from before they are put forward, and by that from after they are put back
// (DetermineTimeZoneOffset in its datetime.c).
func (z *Zone) Instant(local int64) (int64, bool) {
	before, ok := z.Offset(local - day)
	after, also := z.Offset(local + day)
	if !ok || !also {
		return 0, false
	}
	if at, ok := z.Offset(local - after); ok && at == after {
		return local - after, true
	}
	return local - before, true
}
