package operator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// subject is the operator that is measured.
type subject struct {
	process.Child
	w        *world
	metrics  string
	reserved ports.Reservation
}

func newSubject(w *world) *subject {
	return &subject{Child: process.NewChild("the operator", syscall.SIGTERM), w: w}
}

// start starts it as the chart does.
func (s *subject) start() error {
	var port int
	if err := s.reserved.Reserve("the operator", &port); err != nil {
		return err
	}
	s.metrics = ports.Address(port)
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the operator's log: %w", err)
	}
	defer log.Close()
	return s.Launch(process.Spec{
		Path: s.w.o.Operator,
		Args: []string{
			"--gateway-image=freshet:1", "--engine-image=clickhouse:1", "--postgresql-image=postgres:1", "--metrics-listen=" + s.metrics,
			"--leader-elect", "--leader-election-namespace=" + release,
		},
		Env: append(os.Environ(), "KUBECONFIG="+s.w.kubeconfig), Output: log,
	})
}

func (s *subject) logFile() string { return filepath.Join(s.w.dir, "operator.log") }

// end ends it, in order or by SIGKILL.
func (s *subject) end(ctx context.Context, inOrder bool) error {
	if !inOrder {
		return s.Kill()
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return s.Stop(ctx)
}

// usage is what the operator has used since it started.
func (s *subject) usage() (cpu time.Duration, memory rig.Memory, err error) {
	cpu, cpuErr := rig.CPUOf(s.PID())
	memory, memoryErr := rig.MemoryOf(s.PID())
	if err := errors.Join(cpuErr, memoryErr); err != nil {
		return 0, rig.Memory{}, fmt.Errorf("%w; the operator's log ends:\n%s", err, process.LogTail(s.logFile()))
	}
	return cpu, memory, nil
}

// The metrics that are read.
const (
	reconciled = "controller_runtime_reconcile_total"
	working    = "controller_runtime_active_workers"
)

// clusters sums up a metric of the controller of HTAPClusters.
func (s *subject) clusters(ctx context.Context, metric string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read the operator's metrics: %w", err)
	}
	defer response.Body.Close()
	sum := 0.0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		labels, isIt := strings.CutPrefix(lines.Text(), metric+"{")
		if !isIt || !strings.Contains(labels, `controller="htapcluster"`) {
			continue
		}
		value, err := strconv.ParseFloat(labels[strings.LastIndexByte(labels, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read the operator's metric %s: %w", metric, err)
		}
		sum += value
	}
	return sum, nil
}

// awaitRound waits until every cluster was reconciled to its end since a time: when all units have been asked, what is worked on is waited for.
func (s *subject) awaitRound(ctx context.Context, g *gateways, since time.Time) error {
	if err := g.awaitAsked(ctx, since); err != nil {
		return fmt.Errorf("%w; the operator's log ends:\n%s", err, process.LogTail(s.logFile()))
	}
	done, err := s.clusters(ctx, reconciled)
	if err != nil {
		return err
	}
	active, err := s.clusters(ctx, working)
	if err != nil {
		return err
	}
	return poll(ctx, func() (string, error) {
		now, err := s.clusters(ctx, reconciled)
		if now >= done+active {
			return "", err
		}
		return fmt.Sprintf("%.0f clusters are being reconciled", done+active-now), err
	})
}
