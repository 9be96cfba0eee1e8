package replica

import (
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what a replica tells Prometheus.
type metrics struct {
	epochs           prometheus.Counter
	rows             prometheus.Counter
	flush            prometheus.Histogram
	compaction       prometheus.Histogram
	merge            prometheus.Histogram
	compactionErrors prometheus.Counter
	diskDeltas       prometheus.Counter
	basesInstalled   prometheus.Counter
	deltaRows        atomic.Int64
}

func newMetrics(r *Replica, reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		epochs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_replica_epochs_total", Help: "Epochs published."}),
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_replica_rows_applied_total", Help: "Row versions written and rows marked dead."}),
		flush: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "freshet_replica_flush_seconds", Help: "Time to write and publish an epoch.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
		compaction: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "freshet_replica_compaction_seconds", Help: "Time to build and install a table's next base.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 16)}),
		merge: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "freshet_replica_delta_merge_seconds", Help: "Time to put a table's changes since its compaction into one block.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
		compactionErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_replica_compaction_errors_total", Help: "Compactions that the engine refused."}),
		diskDeltas: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_replica_disk_deltas_total", Help: "Deltas begun on disk, because those in memory had no room for a table's rows."}),
		basesInstalled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_replica_bases_installed_total", Help: "Bases that compaction has installed."}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	collectors := []prometheus.Collector{
		m.epochs, m.rows, m.flush, m.compaction, m.merge, m.compactionErrors, m.diskDeltas, m.basesInstalled, &tableCounts{r: r},
		gauge("freshet_replica_position", "Major part of the current snapshot's source position; 0 without one.",
			func() float64 { return float64(r.Status().Position.Major) }),
		gauge("freshet_replica_staleness_seconds", "Age of the current snapshot's watermark; -1 without one.", func() float64 {
			if st := r.Status(); st.Available {
				return r.clock().Sub(st.Time).Seconds()
			}
			return -1
		}),
		gauge("freshet_replica_delta_rows", "Row versions and deaths that compaction has yet to merge into bases.",
			func() float64 { return float64(m.deltaRows.Load()) }),
	}
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register replica metrics: %w", err)
		}
	}
	return m, nil
}

// tableCounts counts the tables of each phase.
type tableCounts struct{ r *Replica }

var tablesDesc = prometheus.NewDesc("freshet_replica_tables", "Tables by phase.", []string{"phase"}, nil)

// Describe implements prometheus.Collector.
func (c *tableCounts) Describe(ch chan<- *prometheus.Desc) { ch <- tablesDesc }

// Collect implements prometheus.Collector.
func (c *tableCounts) Collect(ch chan<- prometheus.Metric) {
	counts := map[Phase]int{PhaseCopying: 0, PhaseReady: 0, PhaseStopped: 0}
	for _, t := range c.r.Tables() {
		counts[t.Phase]++
	}
	for phase, n := range counts {
		ch <- prometheus.MustNewConstMetric(tablesDesc, prometheus.GaugeValue, float64(n), string(phase))
	}
}
