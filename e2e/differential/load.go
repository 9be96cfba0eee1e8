package differential

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// CreateWorld makes a world's tables with their rows in a database.
func CreateWorld(ctx context.Context, dsn string, w *sqlgen.World) error {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect to load world %d: %w", w.Seed, err)
	}
	defer conn.Close(ctx)
	exec := func(sql string) error {
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("load world %d: %.120s: %w", w.Seed, sql, err)
		}
		return nil
	}
	for _, sql := range w.Setup() {
		if err := exec(sql); err != nil {
			return err
		}
	}
	for _, t := range w.Tables {
		if err := exec(t.DDL()); err != nil {
			return err
		}
		if _, err := conn.CopyFrom(ctx, bytes.NewReader(copyText(t.Rows)), "COPY "+sqlgen.QuoteIdent(t.Name)+" FROM STDIN"); err != nil {
			return fmt.Errorf("load world %d: copy into %s: %w", w.Seed, t.Name, err)
		}
	}
	return exec("ANALYZE")
}

// copyText writes rows in COPY's text format.
func copyText(rows [][]*string) []byte {
	escape := strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)
	var b bytes.Buffer
	for _, row := range rows {
		for i, v := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			if v == nil {
				b.WriteString(`\N`)
				continue
			}
			b.WriteString(escape.Replace(*v))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
