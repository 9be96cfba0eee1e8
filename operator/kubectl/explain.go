package kubectl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (p *plugin) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain NAME SQL",
		Short:   "Where a statement would run, on which snapshot, and the SQL that the engine would get",
		Example: `  kubectl freshet explain shop "SELECT region, sum(amount) FROM orders GROUP BY region"`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := p.endpoint(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer e.close()
			return p.explain(cmd.Context(), e, args[1])
		},
	}
}

func (p *plugin) explain(ctx context.Context, e *endpoint, sql string) error {
	conn, err := e.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// One statement, or none: EXPLAIN before the first of several would let the others run.
	result := conn.PgConn().ExecParams(ctx, "EXPLAIN (FRESHET) "+sql, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return fmt.Errorf("explain: %w", result.Err)
	}
	for _, row := range result.Rows {
		fmt.Fprintf(p.out, "%s\n", row[0])
	}
	return nil
}
