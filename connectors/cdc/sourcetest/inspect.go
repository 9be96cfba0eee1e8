package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Commits returns how many transactions were handed over.
func (m *Model) Commits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}

// Copies returns how many copies were taken.
func (m *Model) Copies() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recopies
}

// Position returns how far the model is.
func (m *Model) Position() cdc.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.position
}

// LastWatermark returns the newest watermark.
func (m *Model) LastWatermark() cdc.Watermark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watermark
}

// Table returns the definition of a table by name, and why it stopped; nil if the model does not know it.
func (m *Model) Table(schema, name string) (*cdc.Table, *cdc.TableError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tables {
		if t.def.Schema == schema && t.def.Name == name {
			return t.def, t.stopped
		}
	}
	return nil, nil
}

// Await waits until cond holds of the model; cond may call the model's methods.
func (m *Model) Await(ctx context.Context, cond func() bool) error {
	for {
		m.mu.Lock()
		changed, failed := m.changed, m.failed
		m.mu.Unlock()
		if cond() {
			return nil
		}
		if failed != nil {
			return failed
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; %s", ctx.Err(), m)
		case <-changed:
		}
	}
}

// String describes the model's state.
func (m *Model) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("model at %s, watermark %s, %d commits, %d tables", m.position, m.watermark.Time.Format(time.RFC3339Nano), m.commits, len(m.tables))
}

// CatchUp waits until the model has everything that was committed before the call, and no copy is being taken.
func (m *Model) CatchUp(ctx context.Context) error {
	p, err := m.current(ctx)
	if err != nil {
		return err
	}
	return m.Await(ctx, func() bool { return !m.Position().Before(p) && m.copied() })
}

// current asks for the source's position. After a restart of its server the source has none before its stream is there.
func (m *Model) current(ctx context.Context) (cdc.Position, error) {
	for {
		m.mu.Lock()
		src, changed, failed := m.source, m.changed, m.failed
		m.mu.Unlock()
		if src == nil {
			return cdc.Position{}, errors.New("catch up: the model follows no source")
		}
		p, err := src.Current(ctx)
		if err == nil || failed != nil {
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, err
		case <-changed:
		}
	}
}

// copied reports whether every table that goes on has its copy.
func (m *Model) copied() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tables {
		if t.stopped == nil && !t.has {
			return false
		}
	}
	return true
}

// Compare reads every replicated table from the database and returns an error unless each
// equals the model, row for row and byte for byte. Nothing may write meanwhile.
func (m *Model) Compare(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := m.Await(ctx, m.copied); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.violations) > 0 {
		return fmt.Errorf("the source violated its contract:\n%s", strings.Join(m.violations, "\n"))
	}
	var errs []error
	for _, t := range m.tables {
		if t.stopped == nil {
			errs = append(errs, t.compare(ctx, conn))
		}
	}
	return errors.Join(errs...)
}

func (t *table) compare(ctx context.Context, conn *pgx.Conn) error {
	columns := make([]string, len(t.def.Columns))
	for i, c := range t.def.Columns {
		columns[i] = pgx.Identifier{c.Name}.Sanitize()
	}
	name := pgx.Identifier{t.def.Schema, t.def.Name}.Sanitize()
	if !t.has {
		return fmt.Errorf("table %s has no copy", name)
	}
	rows, err := conn.Query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+name, pgx.QueryResultFormats{pgx.BinaryFormatCode})
	if err != nil {
		return fmt.Errorf("table %s: %w", name, err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
		want := make(cdc.Row, len(columns))
		for i, v := range rows.RawValues() {
			want[i] = cdc.Datum{Kind: cdc.Binary, Data: v}
			if v == nil {
				want[i].Kind = cdc.Null
			}
		}
		got := t.rows[key(t.def, want)]
		if got == nil {
			return fmt.Errorf("table %s: the model lacks row %q", name, want)
		}
		for i := range want {
			if got[i].Kind != want[i].Kind || !bytes.Equal(got[i].Data, want[i].Data) {
				return fmt.Errorf("table %s column %s: the model has %q, the database %q", name, columns[i], got[i], want[i])
			}
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("table %s: %w", name, err)
	}
	if n != len(t.rows) {
		return fmt.Errorf("table %s: the model has %d rows, the database %d", name, len(t.rows), n)
	}
	return nil
}
