package batch

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	batches, overruns, shared prometheus.Counter
	wait, run, staleness      prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, waiting, stalled func() int) *metrics {
	gauge := func(name, help string, value func() int) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "freshet", Subsystem: "batch", Name: name, Help: help},
			func() float64 { return float64(value()) }))
	}
	gauge("waiting_queries", "Queries that wait for their start.", waiting)
	gauge("stalled_queries", "Queries without a slot whose clients do not read on.", stalled)
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "freshet", Subsystem: "batch", Name: name, Help: help})
		reg.MustRegister(c)
		return c
	}
	histogram := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "freshet", Subsystem: "batch", Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		})
		reg.MustRegister(h)
		return h
	}
	return &metrics{
		batches:   counter("started_total", "Batches started."),
		overruns:  counter("overruns_total", "Batches whose queries outlasted the budget."),
		shared:    counter("shared_queries_total", "Queries answered by another's execution on the same snapshot."),
		wait:      histogram("wait_seconds", "Time from a query's arrival to its start."),
		run:       histogram("run_seconds", "Time from an execution's start to its end."),
		staleness: histogram("staleness_seconds", "Age of the snapshot at the moment an execution starts on it."),
	}
}
