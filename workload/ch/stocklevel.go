package ch

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// stockLevel draws a Stock-Level (clause 2.8): how many items of the district's last twenty orders run low.
func (t *Terminal) stockLevel() func(context.Context) (bool, error) {
	district := 1 + t.cfg.Number/t.cfg.Warehouses%Districts // a terminal's district is fixed here (clause 2.8.1.1)
	threshold := between(t.rng, 10, 20)
	return func(ctx context.Context) (bool, error) {
		var b pgx.Batch
		b.Queue("tpcc_begin")
		b.Queue("tpcc_sl_low", t.home, district, threshold)
		b.Queue("tpcc_commit")
		return false, t.conn.SendBatch(ctx, &b).Close()
	}
}
