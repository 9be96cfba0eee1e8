package shares

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// lookEvery is how often a file is looked at. Files that Kubernetes mounts change by a symbolic link, and editors
// write new files: reading a few kilobytes again is the one way that sees every change.
const lookEvery = 500 * time.Millisecond

// Watcher keeps a directory as a file of tenants says. A file that cannot be used leaves the last one in force that could; one that is
// not there is one without tenants.
type Watcher struct {
	file      string
	directory *Directory
	invalid   prometheus.Gauge
	log       *slog.Logger
	seen      string // digest of what the file was at the last look
	problem   atomic.Pointer[string]
}

// NewWatcher reads the file for the first time, and registers the metric that says whether it can be used.
func NewWatcher(file string, directory *Directory, log *slog.Logger, reg prometheus.Registerer) *Watcher {
	w := &Watcher{file: file, directory: directory, log: log}
	w.invalid = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "freshet", Subsystem: "tenant", Name: "file_invalid",
		Help: "Whether the file of tenants cannot be used (1), so that the last one that could is in force."})
	reg.MustRegister(w.invalid)
	w.look()
	return w
}

// Run looks at the file until ctx ends, whose error it returns.
func (w *Watcher) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.look()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Problem says why the file as it is now is not in force; empty: it is.
func (w *Watcher) Problem() string {
	if p := w.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// look reads the file and puts it in force if it is another than at the last look.
func (w *Watcher) look() {
	data, err := os.ReadFile(w.file)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = nil, nil
	}
	seen := Digest(data)
	if err != nil {
		seen = err.Error()
	}
	if seen == w.seen {
		return
	}
	w.seen = seen
	var t *Table
	if err == nil {
		t, err = Parse(data)
	}
	if err != nil {
		problem := fmt.Sprintf("use %s: %v; correct the file, the tenants of before are in force", w.file, err)
		w.problem.Store(&problem)
		w.invalid.Set(1)
		w.log.Warn("the file of tenants cannot be used", "problem", problem)
		return
	}
	w.directory.Set(t)
	w.problem.Store(nil)
	w.invalid.Set(0)
	w.log.Info("tenants are in force", "file", w.file, "tenants", len(t.byName), "digest", t.digest)
}
