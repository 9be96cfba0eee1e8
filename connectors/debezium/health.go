package debezium

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Health is how the pipeline in front of a source does.
type Health struct {
	// Connector and Task are their states as Kafka Connect tells them; empty when it was not asked or did not answer.
	Connector, Task string
	// LagRecords are the messages in the topics that were not read yet, as of the last that were.
	LagRecords int64
	// LagBytes is how much log was written since the newest transaction that was handed over.
	LagBytes int64
	// SlotBytes is how much log the database keeps because Kafka does not have it yet.
	SlotBytes int64
	// Problem is what waits for a person though the stream goes on; nil: nothing.
	Problem *cdc.TerminalError
	// Unknown says what could not be asked, and why.
	Unknown error
}

// Health asks database, topics and Kafka Connect how far they are. What does not answer is in Unknown, the rest still counts.
func (s *Source) Health(ctx context.Context) Health {
	h := Health{LagRecords: s.lag.Load(), Problem: s.problem.Load()}
	var errs []error
	if log, err := s.catalog.ReadLog(ctx); err != nil {
		errs = append(errs, err)
	} else if streamed := s.streamed.Load(); streamed > 0 && log.Inserted.Major > streamed {
		h.LagBytes = int64(log.Inserted.Major - streamed)
	}
	slot, err := s.pg.SlotStatus(ctx)
	errs = append(errs, err)
	h.SlotBytes = slot.RetainedBytes
	if s.connect != nil {
		st, err := s.connect.status(ctx, s.cfg.connectorName())
		errs = append(errs, err)
		h.Connector, h.Task = st.Connector, st.Task
	}
	h.Unknown = errors.Join(errs...)
	return h
}

const (
	// mostRestarts is how often in a row a task that failed is started again.
	mostRestarts = 8
	// firstRestart and lastRestart are the least and the most time between two restarts.
	firstRestart, lastRestart = time.Second, time.Minute
	// soundAfter is how long a task must run to count as sound again.
	soundAfter = time.Minute
	// goneAfter is how long Connect must not know a connector for that to be true: a worker that starts knows none.
	goneAfter = 20 * time.Second
	// haltedAfter is how long a connector must be stopped or paused for that to be told: whoever keeps it does so for moments.
	haltedAfter = 10 * time.Second
	// connectPatience bounds one look at the connector: Connect may hang, and the slot is to be watched on.
	connectPatience = 5 * time.Second
)

const (
	stateRunning = "RUNNING"
	stateFailed  = "FAILED"
)

// keeper keeps the connector going. It belongs to one goroutine.
type keeper struct {
	s        *Source
	restarts int // in a row
	next     time.Time
	failedAt uint64    // what was handed over when it failed last
	running  time.Time // since when the task runs; zero: it does not
	silent   bool      // Connect does not answer
	gone     time.Time // since when Connect knows no such connector; zero: it does
	halted   time.Time // since when it is stopped or paused; zero: it is not
}

// look looks after the connector. A connector that somebody removed is registered again: its slot and its recorded offsets
// say whether anything was lost, and then it fails. It returns a terminal error when that has happened.
//
// Connect being down is no error: its changes wait in the slot.
func (k *keeper) look(ctx context.Context, now time.Time) error {
	if k.s.connect == nil {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	st, err := k.s.connect.status(asking, k.s.cfg.connectorName())
	switch gone := err == nil && st.Connector == ""; {
	case !gone:
		k.gone = time.Time{}
	case k.gone.IsZero():
		k.gone = now
	case now.Sub(k.gone) >= goneAfter && !k.s.managed():
		k.gone = time.Time{}
		k.s.log.Warn("the connector is gone: it is registered again", "connector", k.s.cfg.connectorName())
		err = k.s.register(asking)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if silent := err != nil; silent != k.silent {
		k.silent = silent
		k.s.log.Info("Kafka Connect", "answers", !silent, "error", err)
	}
	if err != nil {
		return nil
	}
	k.judgeHalt(now, st)
	failed := st.Connector == stateFailed || st.Task == stateFailed
	k.s.metrics.failed.Set(boolean(failed))
	if failed {
		k.running = time.Time{}
		return k.recover(asking, now, st)
	}
	if st.Task == stateRunning && !st.halted() {
		k.sound(now)
	}
	return nil
}

// judgeHalt tells of a connector that somebody has stopped or paused, which holds the log back in the database for as long as that lasts. It is
// not resumed before the next start: somebody may have wanted it.
func (k *keeper) judgeHalt(now time.Time, st ConnectorStatus) {
	told := k.s.problem.Load()
	isTold := told != nil && told.Code == cdc.CodeConnectorHalted
	switch {
	case !st.halted():
		k.halted = time.Time{}
		if isTold && k.s.problem.CompareAndSwap(told, nil) {
			k.s.log.Info("the connector goes on", "connector", k.s.cfg.connectorName(), "state", st.Connector)
		}
	case k.halted.IsZero():
		k.halted = now
	case !isTold && now.Sub(k.halted) >= haltedAfter:
		problem := k.s.connectorHalted(st.Connector)
		k.s.problem.Store(problem)
		k.s.log.Warn("the connector does not run", "code", problem.Code, "detail", problem.Detail, "remedy", problem.Remedy)
	}
}

func (s *Source) connectorHalted(state string) *cdc.TerminalError {
	remedy := fmt.Sprintf("resume it (PUT /connectors/%s/resume of Kafka Connect), or restart the gateway, which does", s.cfg.connectorName())
	if s.managed() {
		remedy = "have whoever keeps it let it run (Strimzi: spec.state running of the KafkaConnector)"
	}
	return &cdc.TerminalError{
		Code:   cdc.CodeConnectorHalted,
		Detail: fmt.Sprintf("connector %q is %s in Kafka Connect: no change is delivered, and the database keeps its log until it runs again", s.cfg.connectorName(), state),
		Remedy: remedy,
	}
}

// sound forgets restarts once the task has run for long enough.
func (k *keeper) sound(now time.Time) {
	switch {
	case k.running.IsZero():
		k.running = now
	case now.Sub(k.running) >= soundAfter:
		k.restarts = 0
		fallthrough
	case now.Sub(k.running) >= lastRestart/4:
		if k.s.problem.Swap(nil) != nil {
			k.s.log.Info("the connector runs again", "connector", k.s.cfg.connectorName())
		}
	}
}

// recover restarts what failed, less and less often and not for ever.
func (k *keeper) recover(ctx context.Context, now time.Time, st ConnectorStatus) error {
	why := cause(st.Trace)
	// What delivered something since its last failure does work: it is something around it that fails.
	if at := k.s.streamed.Load(); at != k.failedAt {
		k.failedAt, k.restarts, k.next = at, 0, time.Time{}
	}
	switch {
	case slotMoved(st.Trace):
		return k.s.slotRecreated(why)
	case k.restarts >= mostRestarts:
		if k.s.problem.Load() == nil {
			problem := k.s.connectorFailed(why)
			k.s.problem.Store(problem)
			k.s.log.Error("the connector stays down; restart it when its cause is gone", "code", problem.Code, "detail", problem.Detail, "remedy", problem.Remedy)
		}
		return nil
	case now.Before(k.next):
		return nil
	}
	pause := min(firstRestart<<k.restarts, lastRestart)
	k.restarts++
	k.next = now.Add(pause)
	k.s.log.Warn("the connector's task failed: restarting it", "connector", k.s.cfg.connectorName(), "why", why, "restart", k.restarts, "of", mostRestarts)
	if err := k.s.connect.restart(ctx, k.s.cfg.connectorName()); err != nil {
		k.s.log.Warn("restart the connector's task", "error", err)
		return nil
	}
	k.s.metrics.restarts.Inc()
	return nil
}

func (s *Source) connectorFailed(why string) *cdc.TerminalError {
	remedy := "remove the cause and restart the connector's task in Kafka Connect; the stream then goes on by itself"
	if strings.Contains(why, "RecordTooLargeException") {
		remedy = fmt.Sprintf("raise message_bytes, which is %d, above the size that the detail names, and restart the gateway", s.cfg.Connector.withDefaults().MessageBytes)
	}
	return &cdc.TerminalError{
		Code:   cdc.CodeConnectorFailed,
		Detail: fmt.Sprintf("connector %q fails again and again, %d restarts did not help: %s", s.cfg.connectorName(), mostRestarts, why),
		Remedy: remedy,
	}
}

func (s *Source) slotRecreated(why string) error {
	return &cdc.TerminalError{
		Code:   cdc.CodeSlotLost,
		Detail: fmt.Sprintf("replication slot %q is ahead of what the connector delivered: it was created anew or advanced (%s)", s.cfg.Postgres.Slot, why),
		Remedy: remedyAnew,
	}
}

// slotMoved says whether the trace of a task that failed is that of a slot which has moved past the connector's offset,
// or can no longer serve it. The words are Debezium 3.7's.
func slotMoved(trace string) bool {
	for _, words := range [...]string{"trying to read change stream starting at", "Cannot seek to the last known offset", "has been removed from the database write-ahead log"} {
		if strings.Contains(trace, words) {
			return true
		}
	}
	return false
}

// cause returns the innermost reason that a Java stack trace gives, or its first line.
func cause(trace string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(trace), "\n")
	for line := range strings.Lines(trace) {
		if reason, ok := strings.CutPrefix(line, "Caused by: "); ok {
			first = reason
		}
	}
	const most = 300
	first = strings.TrimSpace(first)
	if len(first) > most {
		first = strings.ToValidUTF8(first[:most], "") + "…"
	}
	return first
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
