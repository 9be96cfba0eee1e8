package engine

import (
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

func TestUsage_addsPlanningAsFarAsItWasOnACore(t *testing.T) {
	packet := func(pairs ...any) (out []ch.ProfileEvent) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, ch.ProfileEvent{Type: proto.ProfileIncrement, Name: pairs[i].(string), Value: int64(pairs[i+1].(int))})
		}
		return append(out, ch.ProfileEvent{Type: proto.ProfileGauge, Name: "UserTimeMicroseconds", Value: 1e9}) // no increment
	}
	for _, c := range []struct {
		name    string
		packets [][]ch.ProfileEvent
		want    []time.Duration
	}{
		{"executing threads only", [][]ch.ProfileEvent{packet("UserTimeMicroseconds", 300, "SystemTimeMicroseconds", 100, "RealTimeMicroseconds", 900), packet("UserTimeMicroseconds", 50)},
			[]time.Duration{400 * time.Microsecond, 50 * time.Microsecond}},
		{"planning on a core of its own", [][]ch.ProfileEvent{packet("QueryParseMicroseconds", 10, "QueryAnalysisMicroseconds", 20, "QueryPlanBuildMicroseconds", 30,
			"QueryPlanOptimizeMicroseconds", 40, "QueryPipelineBuildMicroseconds", 50, "UserTimeMicroseconds", 100, "OSCPUVirtualTimeMicroseconds", 100)},
			[]time.Duration{250 * time.Microsecond}},
		{"planning on a core that is shared", [][]ch.ProfileEvent{packet("QueryAnalysisMicroseconds", 400, "UserTimeMicroseconds", 100,
			"OSCPUVirtualTimeMicroseconds", 100, "OSCPUWaitMicroseconds", 300)}, []time.Duration{200 * time.Microsecond}},
		{"more contention later", [][]ch.ProfileEvent{packet("QueryAnalysisMicroseconds", 400),
			packet("UserTimeMicroseconds", 100, "OSCPUVirtualTimeMicroseconds", 100, "OSCPUWaitMicroseconds", 300), packet("UserTimeMicroseconds", 300, "OSCPUVirtualTimeMicroseconds", 300)},
			[]time.Duration{400 * time.Microsecond, 0, 228571 * time.Nanosecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var u usage
			for i, p := range c.packets {
				if got := u.add(p); got != c.want[i] {
					t.Errorf("packet %d adds %v, want %v", i, got, c.want[i])
				}
			}
		})
	}
}
