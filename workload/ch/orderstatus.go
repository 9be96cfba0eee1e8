package ch

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// orderStatus draws an Order-Status (clause 2.6). The customer's number, which may have to be found by name, is
// needed for the order, hence two round trips.
func (t *Terminal) orderStatus() func(context.Context) (bool, error) {
	district := t.district()
	statement, who := "tpcc_os_id", any(nil)
	if t.byName() {
		statement, who = "tpcc_os_name", t.customerName()
	} else {
		who = t.customer()
	}
	return func(ctx context.Context) (bool, error) {
		id, err := t.findCustomer(ctx, statement, district, who)
		if err != nil {
			return false, err
		}
		var b pgx.Batch
		b.Queue("tpcc_os_lines", t.home, district, id)
		b.Queue("tpcc_commit")
		return false, t.conn.SendBatch(ctx, &b).Close()
	}
}

func (t *Terminal) findCustomer(ctx context.Context, statement string, district int, who any) (int, error) {
	var b pgx.Batch
	b.Queue("tpcc_begin")
	b.Queue(statement, t.home, district, who)
	r := t.conn.SendBatch(ctx, &b)
	defer r.Close()
	if err := discard(r, 1); err != nil {
		return 0, err
	}
	var (
		id                  int
		first, middle, last string
		balance             float64
	)
	if err := r.QueryRow().Scan(&id, &first, &middle, &last, &balance); err != nil {
		return 0, fmt.Errorf("find customer %v: %w", who, err)
	}
	return id, r.Close()
}
