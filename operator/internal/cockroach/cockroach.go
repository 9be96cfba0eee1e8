package cockroach

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Session runs statements as root.
type Session interface {
	// Query returns the rows of a statement, as text.
	Query(ctx context.Context, sql string) ([][]string, error)
}

// Target is what a CockroachDB is to have.
type Target struct {
	// Database is replicated; Role and Password are those of units and users.
	Database, Role, Password string
	// Hold keeps upgrades from being finalized.
	Hold bool
}

// Prepare makes database and role, turns on what changefeeds need, and holds upgrades back or lets them go, unless that is done.
func Prepare(ctx context.Context, s Session, t Target) error {
	if err := create(ctx, s, t); err != nil {
		return err
	}
	return Hold(ctx, s, t.Hold)
}

func create(ctx context.Context, s Session, t Target) error {
	// What is done last says that all is done.
	rows, err := s.Query(ctx, "SELECT 1 FROM [SHOW GRANTS ON ROLE admin] WHERE member = "+literal(t.Role))
	if err != nil {
		return fmt.Errorf("look for administrators: %w", err)
	}
	if len(rows) > 0 {
		return nil
	}
	role := pgx.Identifier{t.Role}.Sanitize()
	for _, sql := range []string{
		"SET CLUSTER SETTING kv.rangefeed.enabled = true",
		// Changefeeds resolve timestamps so much behind the present: the usual three seconds are more than a session's usual bound.
		"SET CLUSTER SETTING kv.closed_timestamp.target_duration = '200ms'",
		"CREATE DATABASE IF NOT EXISTS " + pgx.Identifier{t.Database}.Sanitize(),
		"CREATE ROLE IF NOT EXISTS " + role + " WITH LOGIN PASSWORD " + literal(t.Password),
		"GRANT admin TO " + role,
	} {
		if _, err := s.Query(ctx, sql); err != nil {
			return fmt.Errorf("prepare database %q: %w", t.Database, err)
		}
	}
	return nil
}

// Hold keeps CockroachDB from finalizing upgrades, or lets it, unless that is so already.
func Hold(ctx context.Context, s Session, hold bool) error {
	preserved, err := setting(ctx, s, "cluster.preserve_downgrade_option")
	if err != nil || hold == (preserved != "") {
		return err
	}
	sql := "RESET CLUSTER SETTING cluster.preserve_downgrade_option"
	if hold {
		version, err := setting(ctx, s, "version")
		if err != nil {
			return err
		}
		if strings.Contains(version, "-") {
			return fmt.Errorf("hold back upgrades: one is being finalized, the version is %s; wait until that is done", version)
		}
		sql = "SET CLUSTER SETTING cluster.preserve_downgrade_option = " + literal(version)
	}
	if _, err := s.Query(ctx, sql); err != nil {
		return fmt.Errorf("hold back upgrades, %v: %w", hold, err)
	}
	return nil
}

func setting(ctx context.Context, s Session, name string) (string, error) {
	rows, err := s.Query(ctx, "SHOW CLUSTER SETTING "+name)
	if err != nil {
		return "", fmt.Errorf("read cluster setting %s: %w", name, err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return "", fmt.Errorf("read cluster setting %s: the answer is %q, want one value", name, rows)
	}
	return rows[0][0], nil
}

// EndChangefeeds cancels the changefeeds that units of number keep and higher have left. Their topics begin with prefix, the unit's number and a dot.
func EndChangefeeds(ctx context.Context, s Session, prefix string, keep int) error {
	rows, err := s.Query(ctx, `SELECT job_id::STRING, coalesce(sink_uri, '') FROM [SHOW CHANGEFEED JOBS]
		WHERE status IN ('running', 'pending', 'paused', 'pause-requested', 'failing')`)
	if err != nil {
		return fmt.Errorf("list changefeeds: %w", err)
	}
	for _, row := range rows {
		if len(row) != 2 || !isLeft(row[1], prefix, keep) {
			continue
		}
		if _, err := strconv.ParseInt(row[0], 10, 64); err != nil {
			return fmt.Errorf("list changefeeds: a job is called %q", row[0])
		}
		if _, err := s.Query(ctx, "CANCEL JOB "+row[0]); err != nil {
			return fmt.Errorf("cancel changefeed %s: %w", row[0], err)
		}
	}
	return nil
}

// isLeft says whether a changefeed is one of a unit that is no more.
func isLeft(sink, prefix string, keep int) bool {
	u, err := url.Parse(sink)
	if err != nil {
		return false
	}
	rest, ok := strings.CutPrefix(u.Query().Get("topic_prefix"), prefix)
	number, err := strconv.Atoi(strings.TrimSuffix(rest, "."))
	return ok && strings.HasSuffix(rest, ".") && err == nil && number >= keep
}

// literal quotes a string.
func literal(s string) string {
	return "e'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
