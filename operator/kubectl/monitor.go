package kubectl

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// live is what a unit's gateway says of itself at this moment.
type live struct {
	unit.Status
	// retained and safe are bytes of the database's log: kept for the unit, and that may still be written before its slot can be lost.
	// Negative: unknown, or without a limit.
	retained, safe float64
	// err is why the unit could not be asked.
	err error
}

// The metrics that are read.
const (
	metricRetained = "freshet_source_slot_retained_bytes"
	metricSafe     = "freshet_source_slot_safe_bytes"
)

// monitors asks units how they are, and keeps the ways to them.
type monitors struct {
	access *access

	mu      sync.Mutex
	tunnels map[types.UID]*tunnel
}

func newMonitors(a *access) *monitors { return &monitors{access: a, tunnels: map[types.UID]*tunnel{}} }

func (m *monitors) close() {
	for _, t := range m.tunnels {
		t.close()
	}
}

// askLimit bounds one unit's answer.
const askLimit = 10 * time.Second

// ask asks all units of a cluster, by the name of their pod.
func (m *monitors) ask(ctx context.Context, c *v1alpha1.HTAPCluster) (map[string]live, error) {
	pods, err := m.access.units(ctx, c)
	if err != nil {
		return nil, err
	}
	answers := make([]live, len(pods))
	var group errgroup.Group
	for i := range pods {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, askLimit)
			defer cancel()
			answers[i] = m.askUnit(ctx, &pods[i])
			return nil
		})
	}
	_ = group.Wait() // an answer has its error
	byName := map[string]live{}
	for i := range pods {
		byName[pods[i].Name] = answers[i]
	}
	return byName, nil
}

func (m *monitors) askUnit(ctx context.Context, pod *corev1.Pod) live {
	l := live{retained: -1, safe: -1}
	if pod.Status.Phase != corev1.PodRunning {
		l.err = fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
		return l
	}
	t, err := m.tunnel(ctx, pod)
	if err != nil {
		l.err = err
		return l
	}
	read := func(path string, into func(*http.Response) error) {
		if l.err == nil {
			l.err = get(ctx, "http://"+t.addr+path, into)
		}
	}
	read("/status", func(r *http.Response) error { return json.NewDecoder(r.Body).Decode(&l.Status) })
	read("/metrics", l.readMetrics)
	if l.err != nil {
		l.err = fmt.Errorf("ask unit %s: %w", pod.Name, l.err)
		m.forget(pod.UID)
	}
	return l
}

func (m *monitors) tunnel(ctx context.Context, pod *corev1.Pod) (*tunnel, error) {
	m.mu.Lock()
	t := m.tunnels[pod.UID]
	m.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := m.access.forwarder.forward(ctx, pod.Namespace, pod.Name, manifest.MonitorPort)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tunnels[pod.UID] = t
	return t, nil
}

// forget closes a tunnel that does not work: the next question makes another.
func (m *monitors) forget(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tunnels[pod]; t != nil {
		t.close()
		delete(m.tunnels, pod)
	}
}

func get(ctx context.Context, url string, into func(*http.Response) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Path, response.Status)
	}
	return into(response)
}

func (l *live) readMetrics(r *http.Response) error {
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue // a comment, or a metric with labels
		}
		switch name {
		case metricRetained:
			l.retained = number
		case metricSafe:
			l.safe = number
		}
	}
	return nil
}
