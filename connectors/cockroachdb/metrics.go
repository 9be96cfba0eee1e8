package cockroachdb

import "github.com/prometheus/client_golang/prometheus"

// metrics are the source's; they carry the prefix freshet_source_changefeed_.
type metrics struct {
	cut, confirmed, running            prometheus.Gauge
	buffered, spooled                  prometheus.Gauge
	changes, transactions, bytes, cuts prometheus.Counter
	repeated, misfits                  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const subsystem = "source_changefeed"
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "freshet", Subsystem: subsystem, Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "freshet", Subsystem: subsystem, Name: name, Help: help})
	}
	m := &metrics{
		cut:          gauge("cut_timestamp_seconds", "Wall time of the timestamp up to which everything was handed over."),
		confirmed:    gauge("confirmed_timestamp_seconds", "Wall time of the timestamp up to which the replica holds everything durably."),
		running:      gauge("running", "1 while the changefeed runs, 0 while it is paused."),
		buffered:     gauge("buffered_bytes", "Rows in memory that wait for a cut."),
		spooled:      gauge("spooled_bytes", "Rows in files that wait for a cut."),
		changes:      counter("changes_total", "Row changes handed over."),
		transactions: counter("transactions_total", "Transactions handed over; those of one timestamp count as one."),
		bytes:        counter("stream_bytes_total", "Bytes of messages read."),
		cuts:         counter("cuts_total", "Cuts made."),
		repeated:     counter("repeated_rows_total", "Rows that were delivered again."),
		misfits:      counter("misfits_total", "Rows that did not fit the known definition of their table."),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.cut, m.confirmed, m.running, m.buffered, m.spooled, m.changes, m.transactions, m.bytes, m.cuts, m.repeated, m.misfits} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
