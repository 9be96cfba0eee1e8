package analytics

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	answered, limited prometheus.Counter
	relayed           *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		answered: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "freshet", Subsystem: "route", Name: "columnar_total", Help: "Statements answered by the columnar replica.",
		}),
		limited: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "freshet", Subsystem: "route", Name: "limited_total", Help: "Statements that were refused or ended by a limit of their tenant.",
		}),
		relayed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "freshet", Subsystem: "route", Name: "relayed_total",
			Help: "Candidates that PostgreSQL ran instead: untranslated, defect, refused, stale, guard, unavailable, definition or engine.",
		}, []string{"cause"}),
	}
	reg.MustRegister(m.answered, m.limited, m.relayed)
	return m
}
