package driver

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Percentiles of a distribution, in milliseconds; all zero if nothing was measured.
type Percentiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// histogram keeps durations from a microsecond to ten minutes with three digits.
type histogram struct{ h *hdrhistogram.Histogram }

const longest = 10 * time.Minute

func newHistogram() histogram {
	return histogram{hdrhistogram.New(1, longest.Microseconds(), 3)}
}

func (h histogram) record(d time.Duration) {
	// Values within the bounds cannot fail.
	_ = h.h.RecordValue(min(max(d, time.Microsecond), longest).Microseconds())
}

func (h histogram) percentiles() Percentiles { return Summarize(h.h) }

// Summarize returns the percentiles of a histogram of microseconds.
func Summarize(h *hdrhistogram.Histogram) Percentiles {
	if h.TotalCount() == 0 {
		return Percentiles{}
	}
	ms := func(v int64) float64 { return float64(v) / 1000 }
	return Percentiles{
		Count: h.TotalCount(), Mean: h.Mean() / 1000,
		P50: ms(h.ValueAtQuantile(50)), P90: ms(h.ValueAtQuantile(90)), P99: ms(h.ValueAtQuantile(99)),
		Max: ms(h.Max()),
	}
}
