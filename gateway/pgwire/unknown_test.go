package pgwire_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// What the gateway asks PostgreSQL before it offers a statement may fail as well, by a time limit for example.
// Here it always does, for want of a function.
func TestSession_tellsOrRelaysWhenItsSettingsCannotBeKnown(t *testing.T) {
	b := newOwnBed(t)
	run(t, connect(t, b.direct), "ALTER FUNCTION pg_catalog.pg_my_temp_schema() RENAME TO missing")
	for way, exec := range map[string]func(*pgconn.PgConn) (int, error){
		"simple": func(c *pgconn.PgConn) (int, error) {
			results, err := c.Exec(t.Context(), read).ReadAll()
			if err != nil {
				return 0, err
			}
			return len(results[0].Rows), nil
		},
		"extended": func(c *pgconn.PgConn) (int, error) {
			r := c.ExecParams(t.Context(), read, nil, nil, nil, nil).Read()
			return len(r.Rows), r.Err
		},
	} {
		t.Run(way, func(t *testing.T) {
			c := connect(t, b.through)
			if n, err := exec(c); n != 1 || err != nil {
				t.Errorf("%d rows, %v; want PostgreSQL's", n, err)
			}
			run(t, c, "BEGIN READ ONLY")
			_, err := exec(c)
			wantCode(t, err, "42883")
			if status := c.TxStatus(); status != 'E' {
				t.Errorf("status %c, want E", status)
			}
			run(t, c, "ROLLBACK")
			if n, err := exec(c); n != 1 || err != nil {
				t.Errorf("%d rows, %v after it; want PostgreSQL's", n, err)
			}
		})
	}
}
