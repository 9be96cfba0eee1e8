package postgres

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// metrics are the source's; all carry the prefix freshet_source_.
type metrics struct {
	retained, safe, streamed, confirmed prometheus.Gauge
	tableCount                          *prometheus.GaugeVec
	changes, copiedRows                 prometheus.Counter
	transactions, bytes, nudges         prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "freshet", Subsystem: "source", Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "freshet", Subsystem: "source", Name: name, Help: help})
	}
	m := &metrics{
		retained:  gauge("slot_retained_bytes", "Write-ahead log that the server keeps for the replication slot."),
		safe:      gauge("slot_safe_bytes", "Log that may still be written before the slot can be lost; -1 without a limit."),
		streamed:  gauge("streamed_position_bytes", "Log position up to which transactions were handed over."),
		confirmed: gauge("confirmed_position_bytes", "Log position up to which the replica holds everything durably."),
		tableCount: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "freshet", Subsystem: "source", Name: "tables",
			Help: "Selected tables by state: replicated, or the code that stopped them."}, []string{"state"}),
		changes:      counter("changes_total", "Row changes handed over."),
		copiedRows:   counter("copied_rows_total", "Rows handed over by copies."),
		transactions: counter("transactions_total", "Transactions handed over."),
		bytes:        counter("stream_bytes_total", "Bytes of change messages received."),
		nudges:       counter("nudges_total", "Messages written into the log to have it flushed for a reader that waits."),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.retained, m.safe, m.streamed, m.confirmed, m.tableCount, m.changes,
		m.copiedRows, m.transactions, m.bytes, m.nudges} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) slot(st SlotStatus) {
	m.retained.Set(float64(st.RetainedBytes))
	m.safe.Set(float64(st.SafeBytes))
}

func (m *metrics) tables(r *registry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.tableCount.Reset()
	for _, e := range r.entries {
		if e.gone {
			continue
		}
		state := cdc.Code("replicated")
		if e.def.stopped != nil {
			state = e.def.stopped.Code
		}
		m.tableCount.WithLabelValues(string(state)).Inc()
	}
}
