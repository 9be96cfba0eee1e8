package differential

import (
	"context"
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// Views makes a view of every query that can be one, so that the columnar route sees it as PostgreSQL prints it.
type Views struct {
	postgres *Postgres
	schema   string
	made     int
}

// Through creates the view and returns a query of everything in it, sorted by what q's rows are sorted by.
func (v *Views) Through(ctx context.Context, q sqlgen.Query) (sqlgen.Query, error) {
	if len(q.Params) > 0 {
		return q, nil
	}
	st := Statement{SQL: q.SQL}
	if refused, err := v.postgres.Describe(ctx, &st); err != nil || refused != nil {
		return q, err
	}
	names := make([]string, len(st.Description.Fields))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i+1)
	}
	v.made++
	name := fmt.Sprintf("%s.v%d", v.schema, v.made)
	if err := v.postgres.Exec(ctx, "CREATE VIEW "+name+"("+strings.Join(names, ", ")+") AS "+q.SQL); err != nil {
		return q, err
	}
	sorted := make([]string, len(q.OrderBy))
	for i, column := range q.OrderBy {
		sorted[i] = names[column]
	}
	q.SQL = "SELECT * FROM " + name
	if len(sorted) > 0 {
		q.SQL += " ORDER BY " + strings.Join(sorted, ", ")
	}
	q.Total = false
	return q, nil
}
