package replica_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/local/chengine"
)

// The OIDs of the types that the tests use.
const (
	int4    = 23
	text    = 25
	bpchar  = 1042
	numeric = 1700
	jsonb   = 3802
)

// numeric122 is the modifier of numeric(12,2).
const numeric122 = 12<<16 + 2 + 4

func accounts() *cdc.Table {
	return &cdc.Table{ID: 1, Schema: "public", Name: "accounts", Key: []int{0}, Columns: []cdc.Column{
		{Name: "id", Type: int4, Modifier: -1, NotNull: true, Attr: 1},
		{Name: "balance", Type: numeric, Modifier: numeric122, NotNull: true, Attr: 2},
		{Name: "note", Type: text, Modifier: -1, Attr: 3},
	}}
}

func orders() *cdc.Table {
	return &cdc.Table{ID: 2, Schema: "public", Name: "or`ders", Key: []int{1, 0}, Columns: []cdc.Column{
		{Name: "line", Type: int4, Modifier: -1, NotNull: true, Attr: 1},
		{Name: "shop `x`", Type: bpchar, Modifier: 8, NotNull: true, Attr: 2},
		{Name: "amount", Type: numeric, Modifier: numeric122, Attr: 3},
		{Name: "größe", Type: text, Modifier: -1, Attr: 4},
	}}
}

func tags() *cdc.Table {
	return &cdc.Table{ID: 3, Schema: "app", Name: "tags", Key: []int{0}, Columns: []cdc.Column{
		{Name: "name", Type: text, Modifier: -1, NotNull: true, Attr: 1},
	}}
}

// gateway runs a replica, again and again, on one engine.
type gateway struct {
	t      testing.TB
	cfg    replica.Config
	src    cdc.Source
	clock  func() time.Time
	reg    *prometheus.Registry
	r      *replica.Replica
	cancel context.CancelFunc
	done   chan error
	reader *engine.Conn
}

var databases struct {
	sync.Mutex
	n int
}

func newGateway(t testing.TB, server *chengine.Server, user, password string, src cdc.Source, change func(*replica.Config)) *gateway {
	databases.Lock()
	databases.n++
	name := fmt.Sprintf("fresh%d", databases.n)
	databases.Unlock()
	cfg := replica.Config{Addr: server.TCPAddr(), Database: name, User: user, Password: password, SourceID: "test"}
	if change != nil {
		change(&cfg)
	}
	return &gateway{t: t, cfg: cfg, src: src, clock: time.Now}
}

func (g *gateway) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	level := slog.LevelError
	if testing.Verbose() {
		level = slog.LevelWarn
	}
	log := slog.New(slog.NewTextHandler(testWriter{g.t}, &slog.HandlerOptions{Level: level}))
	g.reg = prometheus.NewRegistry()
	r, err := replica.Open(ctx, g.cfg, g.src, g.clock, log, g.reg)
	if err != nil {
		cancel()
		return err
	}
	g.r, g.cancel, g.done = r, cancel, make(chan error, 1)
	go func() { g.done <- r.Run(ctx) }()
	return nil
}

func (g *gateway) stop() error {
	if g.cancel == nil {
		return nil
	}
	g.cancel()
	g.cancel = nil
	if g.reader != nil {
		_ = g.reader.Close()
		g.reader = nil
	}
	err := <-g.done
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// acquire waits for a snapshot, also through times without any.
func (g *gateway) acquire(ctx context.Context, q replica.Request) (*replica.Snapshot, error) {
	for {
		changed := g.r.Changed()
		s, err := g.r.Acquire(ctx, q)
		if !errors.Is(err, replica.ErrUnavailable) {
			return s, err
		}
		select {
		case err := <-g.done:
			g.done <- err
			return nil, fmt.Errorf("replica ended: %w", err)
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-changed:
		}
	}
}

// failer is a test, also one of random properties.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// await waits until there is another snapshot.
func await(ctx context.Context, t failer, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-ctx.Done():
		t.Fatalf("no other snapshot came: %v", ctx.Err())
	}
}

// read returns some columns of a table's rows as a snapshot has them, sorted.
func (g *gateway) read(ctx context.Context, s *replica.Snapshot, t *cdc.Table, columns []int) ([]string, error) {
	names := make([]string, len(columns))
	texts := make([]string, len(columns))
	for i, k := range columns {
		names[i] = t.Columns[k].Name
		texts[i] = fmt.Sprintf("ifNull(toString(%s), '\\0')", engine.Quote(names[i]))
	}
	relation, ok := s.Relation(t.ID, names)
	if !ok {
		return nil, errors.New("no relation")
	}
	rows, err := g.strings(ctx, fmt.Sprintf("SELECT concat(%s, '') AS n FROM %s", strings.Join(texts, ", '|', "), relation))
	slices.Sort(rows)
	return rows, err
}

// strings runs a query on a connection of the test's.
func (g *gateway) strings(ctx context.Context, sql string) ([]string, error) {
	if g.reader == nil {
		c, err := engine.Dial(ctx, engine.Config{Addr: g.cfg.Addr, User: g.cfg.User, Password: g.cfg.Password})
		if err != nil {
			return nil, err
		}
		g.reader = c
	}
	rows, err := g.reader.Strings(ctx, sql)
	if err != nil {
		if !engine.Refused(err) {
			_ = g.reader.Close()
			g.reader = nil
		}
		return nil, err
	}
	return rows, nil
}

// want returns what a table should hold in some columns.
func want(c content, columns []int) []string {
	rows := make([]string, 0, len(c))
	for _, r := range c {
		values := make([]string, len(columns))
		for i, k := range columns {
			values[i] = r[k]
		}
		rows = append(rows, strings.Join(values, "|"))
	}
	slices.Sort(rows)
	return rows
}

// check compares all ready tables of a snapshot with the script's state at its position.
func (g *gateway) check(ctx context.Context, s *replica.Snapshot, src *script) error {
	model := src.at(s.Position())
	if model == nil {
		return fmt.Errorf("snapshot at %v, where nothing ends", s.Position())
	}
	for id := range model {
		t, ok := s.Table(id)
		if !ok {
			continue
		}
		for _, columns := range selections(t) {
			got, err := g.read(ctx, s, t, columns)
			if err != nil {
				return fmt.Errorf("read %s at %v: %w", t.Name, s.Position(), err)
			}
			if diff := cmp.Diff(want(model[id], columns), got, cmpopts.EquateEmpty()); diff != "" {
				return &difference{fmt.Sprintf("columns %v of %s at %v, epoch %d (-want +got):\n%s", columns, t.Name, s.Position(), s.Epoch(), diff)}
			}
		}
	}
	return nil
}

// selections are the columns that a test reads of a table: all of them, and the key with each of the others, of which some are steady.
func selections(t *cdc.Table) [][]int {
	var all []int
	several := [][]int{t.Key}
	for k := range t.Columns {
		all = append(all, k)
		if !slices.Contains(t.Key, k) {
			several = append(several, append(slices.Clone(t.Key), k))
		}
	}
	return append(several, all)
}

// difference is a wrong answer, as opposed to none.
type difference struct{ text string }

func (d *difference) Error() string { return d.text }
