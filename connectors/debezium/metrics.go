package debezium

import "github.com/prometheus/client_golang/prometheus"

// metrics are the source's; they carry the prefix freshet_source_kafka_.
type metrics struct {
	streamed, confirmed, buffered, waiting prometheus.Gauge
	lag, failed                            prometheus.Gauge
	changes, transactions, bytes, repeated prometheus.Counter
	misfits, restarts                      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const subsystem = "source_kafka"
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "freshet", Subsystem: subsystem, Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "freshet", Subsystem: subsystem, Name: name, Help: help})
	}
	m := &metrics{
		streamed:     gauge("streamed_position_bytes", "Log position up to which transactions were handed over."),
		confirmed:    gauge("confirmed_position_bytes", "Log position up to which the replica holds everything durably."),
		buffered:     gauge("buffered_bytes", "Rows in memory that wait for the end of their transaction."),
		waiting:      gauge("waiting_transactions", "Transactions that have ended and wait for rows or for an earlier one."),
		changes:      counter("changes_total", "Row changes handed over."),
		transactions: counter("transactions_total", "Transactions handed over."),
		bytes:        counter("stream_bytes_total", "Bytes of messages read."),
		repeated:     counter("repeated_ends_total", "Ends of transactions that were delivered again."),
		lag:          gauge("lag_records", "Messages in the topics that were not read yet."),
		failed:       gauge("connector_failed", "1 while the connector or its task is in state FAILED."),
		restarts:     counter("connector_restarts_total", "Restarts of a connector or task that failed."),
		misfits:      counter("misfits_total", "Rows that did not fit the known definition of their table."),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.streamed, m.confirmed, m.buffered, m.waiting, m.changes, m.transactions, m.bytes, m.repeated, m.misfits, m.lag, m.failed, m.restarts} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
