package invariant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Check is a promise in SQL.
type Check struct {
	// Name tells it apart, for example "condition 3".
	Name string
	// SQL returns the rows that break the promise; none if it holds.
	SQL string
}

// Violation is a check that returned rows.
type Violation struct {
	Check   string
	Columns []string
	// Rows holds the first rows as text, at most [MaxRows]; Count is how many there were.
	Rows  [][]string
	Count int
	// At is when the check ended.
	At time.Time
	// Again is how many rows the check returned when it was repeated on the same snapshot, -1 where that failed. Another number than Count
	// says that an execution was at fault, and not the snapshot.
	Again int
	// Snapshot is what Freshet calls it; empty: the database is another.
	Snapshot string
}

// MaxRows is how many rows a [Violation] keeps.
const MaxRows = 10

// String prints the violation with its rows.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s broken by %d rows, and by %d when it was repeated on the same snapshot %s, at %s (%s):",
		v.Check, v.Count, v.Again, v.Snapshot, v.At.Format(time.TimeOnly), strings.Join(v.Columns, ", "))
	for _, row := range v.Rows {
		fmt.Fprintf(&b, "\n  %s", strings.Join(row, ", "))
	}
	return b.String()
}

// Checker runs checks on one snapshot after the other and counts. It is safe for concurrent use.
type Checker struct {
	checks []Check

	mu     sync.Mutex
	counts Counts
	seen   map[string]struct{} // the snapshots, by name
}

// Counts is what a [Checker] found so far.
type Counts struct {
	// Snapshots counts the different snapshots on which all checks ran; a database that does not name its snapshots has another one each time.
	Snapshots int
	// Violations counts the checks that returned rows; one snapshot may break several.
	Violations int
	// First is the first violation; nil if there was none.
	First *Violation
}

// NewChecker returns a checker of the given checks.
func NewChecker(checks []Check) *Checker {
	return &Checker{checks: checks, seen: map[string]struct{}{}}
}

// Counts returns what was found so far.
func (c *Checker) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Snapshot runs all checks on one snapshot of the database behind conn, and returns the violations.
func (c *Checker) Snapshot(ctx context.Context, conn *pgx.Conn) ([]Violation, error) {
	pg := conn.PgConn()
	if _, err := pg.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").ReadAll(); err != nil {
		return nil, fmt.Errorf("begin snapshot: %w", err)
	}
	var found []Violation
	for _, check := range c.checks {
		v, err := run(ctx, pg, check)
		if err != nil {
			_, rollbackErr := pg.Exec(ctx, "ROLLBACK").ReadAll()
			return nil, errors.Join(fmt.Errorf("run check %s: %w", check.Name, err), rollbackErr)
		}
		if v == nil {
			continue
		}
		v.Again = -1
		if again, err := run(ctx, pg, check); err == nil {
			v.Again = again.count()
		}
		found = append(found, *v)
	}
	if _, err := pg.Exec(ctx, "COMMIT").ReadAll(); err != nil {
		return nil, fmt.Errorf("end snapshot: %w", err)
	}
	name := snapshotName(ctx, pg)
	for i := range found {
		found[i].Snapshot = name
	}
	c.record(name, found)
	return found, nil
}

func (c *Checker) record(snapshot string, found []Violation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.seen[snapshot]; snapshot == "" || !again {
		c.counts.Snapshots++
	}
	c.seen[snapshot] = struct{}{}
	c.counts.Violations += len(found)
	if c.counts.First == nil && len(found) > 0 {
		c.counts.First = &found[0]
	}
}

// run sends one check by the simple protocol, so that values come as text.
func run(ctx context.Context, pg *pgconn.PgConn, check Check) (*Violation, error) {
	results := pg.Exec(ctx, check.SQL)
	defer results.Close()
	v := Violation{Check: check.Name}
	for results.NextResult() {
		r := results.ResultReader()
		for _, f := range r.FieldDescriptions() {
			v.Columns = append(v.Columns, f.Name)
		}
		for r.NextRow() {
			if v.Count++; v.Count <= MaxRows {
				v.Rows = append(v.Rows, texts(r.Values()))
			}
		}
		if _, err := r.Close(); err != nil {
			return nil, err
		}
	}
	if err := results.Close(); err != nil {
		return nil, err
	}
	if v.Count == 0 {
		return nil, nil
	}
	v.At = time.Now()
	return &v, nil
}

// count is 0 for no violation.
func (v *Violation) count() int {
	if v == nil {
		return 0
	}
	return v.Count
}

// snapshotName asks for the snapshot of the statement before.
func snapshotName(ctx context.Context, pg *pgconn.PgConn) string {
	results, err := pg.Exec(ctx, "SHOW freshet.snapshot").ReadAll()
	if err != nil || len(results) != 1 || len(results[0].Rows) != 1 {
		return ""
	}
	return string(results[0].Rows[0][0])
}

func texts(values [][]byte) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = "NULL"
		if v != nil {
			row[i] = string(v)
		}
	}
	return row
}
