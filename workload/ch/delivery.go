package ch

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// delivery draws a Delivery (clause 2.7): the oldest undelivered order of each district of the warehouse.
func (t *Terminal) delivery() func(context.Context) (bool, error) {
	carrier, now := between(t.rng, 1, 10), t.cfg.Now()
	return func(ctx context.Context) (bool, error) {
		districts, orders, err := t.takeOldest(ctx)
		if err != nil {
			return false, err
		}
		customers, cents, err := t.deliver(ctx, districts, orders, carrier, now)
		if err != nil {
			return false, err
		}
		var b pgx.Batch
		b.Queue("tpcc_dl_customers", t.home, districts, customers, cents)
		b.Queue("tpcc_commit")
		return false, t.conn.SendBatch(ctx, &b).Close()
	}
}

// takeOldest removes the oldest new order of each district. A district without one is left out.
func (t *Terminal) takeOldest(ctx context.Context) (districts, orders []int32, err error) {
	var b pgx.Batch
	b.Queue("tpcc_begin")
	b.Queue("tpcc_dl_lock", t.home)
	b.Queue("tpcc_dl_oldest", t.home)
	r := t.conn.SendBatch(ctx, &b)
	defer r.Close()
	if err := discard(r, 2); err != nil {
		return nil, nil, err
	}
	oldest, err := readPairs(r)
	if err != nil {
		return nil, nil, err
	}
	// Rows are locked in the order of districts everywhere.
	for d := int32(1); d <= Districts; d++ {
		if o, ok := oldest[d]; ok {
			districts, orders = append(districts, d), append(orders, o)
		}
	}
	return districts, orders, r.Close()
}

// deliver marks the orders and their lines, and returns per district the customer and the amount in cents.
func (t *Terminal) deliver(
	ctx context.Context, districts, orders []int32, carrier int, now time.Time,
) (customers, cents []int32, err error) {
	var b pgx.Batch
	b.Queue("tpcc_dl_orders", t.home, districts, orders, carrier)
	b.Queue("tpcc_dl_lines", t.home, districts, orders, now)
	r := t.conn.SendBatch(ctx, &b)
	defer r.Close()
	customerOf, err := readPairs(r)
	if err != nil {
		return nil, nil, err
	}
	centsOf, err := readPairs(r)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range districts {
		customers, cents = append(customers, customerOf[d]), append(cents, centsOf[d])
	}
	return customers, cents, r.Close()
}

func readPairs(r pgx.BatchResults) (map[int32]int32, error) {
	rows, err := r.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	pairs := make(map[int32]int32, Districts)
	var key, value int32
	for rows.Next() {
		if err := rows.Scan(&key, &value); err != nil {
			return nil, err
		}
		pairs[key] = value
	}
	return pairs, rows.Err()
}
