package cdc

// The span of time, in seconds since 1970 UTC, over which a source tells a time zone's offsets: 1970-01-01 to 2100-01-01.
const (
	FirstOffset int64 = 0
	LastOffset  int64 = 4_102_444_800
)

// Offset is how far the clocks in a time zone are ahead of UTC from an instant on.
type Offset struct {
	// From is in seconds since 1970 UTC.
	From int64
	// Seconds are negative west of Greenwich.
	Seconds int32
}
