package shares

import "github.com/prometheus/client_golang/prometheus"

// Metrics tell what tenants use. The label tenant has the names of the tenants that are configured, and no others.
type Metrics struct {
	cpu, queries, queued, rejected *prometheus.CounterVec
}

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "freshet", Subsystem: "tenant", Name: name, Help: help}, []string{"tenant"})
		reg.MustRegister(c)
		return c
	}
	return &Metrics{
		cpu:      counter("cpu_seconds_total", "CPU time that the columnar engine consumed for the tenant's queries."),
		queries:  counter("queries_total", "Analytical queries of the tenant that were started."),
		queued:   counter("queue_seconds_total", "Time that the tenant's queries waited before they were started."),
		rejected: counter("rejected_total", "Queries that were refused since as many of the tenant's waited as may."),
	}
}

// meter has the metrics of one tenant.
type meter struct{ cpu, queries, queued, rejected prometheus.Counter }

func (m *Metrics) of(tenant string) meter {
	return meter{
		cpu: m.cpu.WithLabelValues(tenant), queries: m.queries.WithLabelValues(tenant),
		queued: m.queued.WithLabelValues(tenant), rejected: m.rejected.WithLabelValues(tenant),
	}
}

// forget ends the series of a tenant that is gone.
func (m *Metrics) forget(tenant string) {
	for _, c := range []*prometheus.CounterVec{m.cpu, m.queries, m.queued, m.rejected} {
		c.DeleteLabelValues(tenant)
	}
}
