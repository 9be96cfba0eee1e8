package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
)

// Status is what /status says of a gateway.
type Status struct {
	// Ready is /freshz's answer: the snapshot is no staler than the objective, and the engine answers. It begins when no table is being
	// copied. Later copies do not end it.
	Ready bool `json:"ready"`
	// Position and StalenessMS are the newest snapshot's; StalenessMS is -1 without one.
	Position    string  `json:"position,omitempty"`
	StalenessMS float64 `json:"staleness_ms"`
	// Stopped is set when replication waits for a person.
	Stopped *Stopped `json:"stopped,omitempty"`
	// Problem is why there is no replica at present, or what hinders it: it is tried again.
	Problem string `json:"problem,omitempty"`
	// Pipeline is what stands between the database and the gateway; /status alone asks for it.
	Pipeline *Pipeline     `json:"pipeline,omitempty"`
	Tables   []TableStatus `json:"tables,omitempty"`
	// Tenants says which file of tenants is in force; nil: none was configured.
	Tenants *TenantsStatus `json:"tenants,omitempty"`
}

// TenantsStatus tells of the file of tenants.
type TenantsStatus struct {
	// Digest is [shares.Digest] of the content that is in force.
	Digest string `json:"digest"`
	// Problem says why the file as it is now is not in force.
	Problem string `json:"problem,omitempty"`
}

// Stopped names a condition that needs a person, and the remedy.
type Stopped struct {
	Code   cdc.Code `json:"code"`
	Detail string   `json:"detail"`
	Remedy string   `json:"remedy"`
}

// TableStatus is the replication state of one table.
type TableStatus struct {
	Table   string   `json:"table"`
	Phase   string   `json:"phase"` // copying, ready or stopped
	Rows    int64    `json:"rows"`  // in the snapshot; while it is being copied, those that have come
	Stopped *Stopped `json:"stopped,omitempty"`
	// Omitted are the columns that are not replicated: what reads them runs on the database.
	Omitted []OmittedColumn `json:"omitted,omitempty"`
}

// OmittedColumn is a column that is not replicated, and why. Detail completes "column … ".
type OmittedColumn struct {
	Column string   `json:"column"`
	Code   cdc.Code `json:"code"`
	Detail string   `json:"detail"`
	Remedy string   `json:"remedy"`
}

// status reads the unit's state.
func (u *unit) status() Status {
	s, _ := u.observe()
	return s
}

// observe reads the unit's state, and why it is not ready; nil if it is.
func (u *unit) observe() (Status, error) {
	s := Status{StalenessMS: -1}
	if t := u.stopped.Load(); t != nil {
		s.Stopped = &Stopped{t.Code, t.Detail, t.Remedy}
	}
	if p := u.problem.Load(); p != nil {
		s.Problem = *p
	}
	i, err := u.get()
	if err != nil {
		why := "the replica is starting"
		if s.Stopped != nil {
			why = fmt.Sprintf("replication stopped: %s: %s", s.Stopped.Code, s.Stopped.Detail)
		}
		return s, fmt.Errorf("there is no snapshot: %s", cmp.Or(s.Problem, why))
	}
	st := i.replica.Status()
	s.Problem = cmp.Or(s.Problem, st.EngineError, st.CompactionError, st.SourceError)
	if waits := copyWaits(i.source); waits != "" {
		s.Problem = cmp.Or(s.Problem, "the copy of a table waits for "+waits)
	}
	var unready error
	if st.Available {
		staleness := u.cfg.Clock().Sub(st.Time)
		s.Position = st.Position.String()
		s.StalenessMS = float64(staleness.Microseconds()) / 1000
		if staleness > u.cfg.ReadyStaleness {
			unready = fmt.Errorf("the snapshot's staleness is %.0f ms, more than %s", s.StalenessMS, u.cfg.ReadyStaleness)
		}
	} else {
		unready = fmt.Errorf("there is no snapshot: %s", st.Reason)
	}
	if silence := u.engineSilence(); silence > engineLimit {
		unready = fmt.Errorf("the columnar engine has not answered for %s or more", engineLimit)
		s.Problem = cmp.Or(s.Problem, unready.Error())
	}
	tables := i.replica.Tables()
	for _, t := range tables {
		s.Tables = append(s.Tables, tableStatus(t))
	}
	if unready == nil {
		unready = u.copied(tables)
	}
	s.Ready = unready == nil
	return s, unready
}

// pipelineLimit bounds how long /status waits for what the pipeline says of itself.
const pipelineLimit = time.Second

// statusWithPipeline reads the unit's state, and asks the pipeline for its own.
func (u *unit) statusWithPipeline(ctx context.Context) Status {
	ctx, cancel := context.WithTimeout(ctx, pipelineLimit)
	defer cancel()
	s := u.status()
	if s.Pipeline = u.pipeline(ctx); s.Pipeline == nil {
		return s
	}
	if t := s.Pipeline.problem; t != nil && s.Stopped == nil {
		s.Stopped = &Stopped{t.Code, t.Detail, t.Remedy}
	}
	return s
}

func tableStatus(t replica.TableStatus) TableStatus {
	out := TableStatus{Table: t.Schema + "." + t.Name, Phase: string(t.Phase), Rows: t.Rows}
	if t.Stopped != nil {
		out.Stopped = &Stopped{t.Stopped.Code, t.Stopped.Detail, t.Stopped.Remedy}
	}
	for _, c := range t.Omitted {
		out.Omitted = append(out.Omitted, OmittedColumn{c.Name, c.Code, c.Detail, c.Remedy})
	}
	return out
}

// serveMonitor answers /metrics, /healthz, /freshz, /readyz and /status until ctx ends. /healthz says that the process serves, /freshz that
// its snapshot is fresh, /readyz that clients should be led to it.
func serveMonitor(ctx context.Context, l net.Listener, u *unit, t *tenants, base prometheus.Gatherer) error {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers{base, u}, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/freshz", func(w http.ResponseWriter, _ *http.Request) {
		if err := u.fresh(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := u.ready(r.Context()); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(t.describe(u.statusWithPipeline(r.Context()))) // the client has gone: nobody to tell
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve monitoring port: %w", err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := srv.Shutdown(limited); err != nil {
		_ = srv.Close() // a client that does not read its answer
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve monitoring port: %w", err)
	}
	return ctx.Err()
}
