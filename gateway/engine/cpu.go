package engine

import (
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// usage sums the CPU time that the engine consumes for one query, from its profile events.
//
// Those have the CPU time of the threads that execute the query, but of the one that plans it, the connection's own, only the time on the clock (26.7). Where a
// core is shared that is longer than its CPU time, in the proportion in which the others waited for a core, too. For short queries over many
// relations planning is as much as execution. A fixed time stands for reading and answering.
type usage struct {
	executed, planned time.Duration
	// ran and waited are the executing threads' times on a core and in wait for one; zero where the system does not tell.
	ran, waited time.Duration
	told        time.Duration
}

// handling is what is consumed to read a query and to send its answer: that of the least of queries, 0.95 ms in all.
const handling = 700 * time.Microsecond

// add takes a packet of events, which hold what was added since the packet before, and returns what was consumed since.
func (u *usage) add(events []ch.ProfileEvent) time.Duration {
	for _, e := range events {
		if e.Type != proto.ProfileIncrement {
			continue
		}
		d := time.Duration(e.Value) * time.Microsecond
		switch e.Name {
		case "UserTimeMicroseconds", "SystemTimeMicroseconds":
			u.executed += d
		case "QueryParseMicroseconds", "QueryAnalysisMicroseconds", "QueryPlanBuildMicroseconds", "QueryPlanOptimizeMicroseconds", "QueryPipelineBuildMicroseconds":
			u.planned += d
		case "OSCPUVirtualTimeMicroseconds":
			u.ran += d
		case "OSCPUWaitMicroseconds":
			u.waited += d
		}
	}
	onCore := 1.0
	if u.ran > 0 {
		onCore = float64(u.ran) / float64(u.ran+u.waited)
	}
	now := u.executed + time.Duration(float64(u.planned)*onCore)
	added := max(now-u.told, 0) // the proportion may fall
	u.told += added
	return added
}
