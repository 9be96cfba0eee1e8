package ch

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// payment draws a Payment (clause 2.5): 15 % of them by a customer of another warehouse. It is one round trip.
func (t *Terminal) payment() func(context.Context) (bool, error) {
	district := t.district()
	customerWarehouse, customerDistrict := t.home, district
	if t.rng.IntN(100) < 15 {
		customerWarehouse, customerDistrict = t.otherWarehouse(), t.district()
	}
	statement, who := "tpcc_pay_id", any(nil)
	if t.byName() {
		statement, who = "tpcc_pay_name", t.customerName()
	} else {
		who = t.customer()
	}
	cents := between(t.rng, 1_00, 5000_00)
	now := t.cfg.Now()
	return func(ctx context.Context) (bool, error) {
		var b pgx.Batch
		b.Queue("tpcc_begin")
		b.Queue("tpcc_pay_district", t.home, district, cents)
		b.Queue("tpcc_pay_warehouse", t.home, cents)
		b.Queue(statement, customerWarehouse, customerDistrict, who, cents, t.home, district, now)
		b.Queue("tpcc_commit")
		r := t.conn.SendBatch(ctx, &b)
		defer r.Close()
		if err := discard(r, 3); err != nil {
			return false, err
		}
		var (
			id                  int
			first, last, credit string
			balance             float64
		)
		if err := r.QueryRow().Scan(&id, &first, &last, &credit, &balance); err != nil {
			return false, fmt.Errorf("pay for customer %v: %w", who, err)
		}
		return false, r.Close()
	}
}
