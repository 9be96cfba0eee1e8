package pgwire

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts what the endpoint does.
type Metrics struct {
	sessions   prometheus.Gauge
	statements *prometheus.CounterVec
	cancels    prometheus.Counter
}

// NewMetrics registers the endpoint's metrics with reg; nil registers nowhere.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{Name: "freshet_gateway_sessions",
			Help: "Client sessions that are connected to PostgreSQL."}),
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "freshet_gateway_offered_statements_total",
			Help: "Statements that were offered to the analytical route, by the route that they took."}, []string{"route"}),
		cancels: prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_gateway_cancel_requests_total",
			Help: "Cancel requests that clients sent."}),
	}
	if reg != nil {
		reg.MustRegister(m.sessions, m.statements, m.cancels)
	}
	return m
}
