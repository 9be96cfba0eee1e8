package ch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// newOrderInput is what a New-Order is given (clause 2.4.1), and one attempt's intermediate results.
type newOrderInput struct {
	district, customer int
	entered            time.Time
	allLocal           int
	// The lines. Items of one order differ, so that one statement updates their stock; they are sorted by warehouse
	// and item, the order in which all transactions lock stock rows.
	items, supply, quantity []int32

	order       int
	discount    float64
	tax         float64
	cents       []int32
	information []string
}

func (t *Terminal) newOrder() func(context.Context) (bool, error) {
	in := &newOrderInput{district: t.district(), customer: t.customer(), entered: t.cfg.Now(), allLocal: 1}
	type line struct{ item, supply, quantity int32 }
	lines := make([]line, between(t.rng, 5, 15))
	seen := make(map[int32]bool, len(lines))
	for i := range lines {
		item := int32(nuRand(t.rng, 8191, cItem, 1, Items))
		for seen[item] {
			item = int32(nuRand(t.rng, 8191, cItem, 1, Items))
		}
		seen[item] = true
		supply := t.home
		if t.rng.IntN(100) == 0 {
			supply = t.otherWarehouse()
		}
		if supply != t.home {
			in.allLocal = 0
		}
		lines[i] = line{item, int32(supply), int32(between(t.rng, 1, 10))}
	}
	if t.rng.IntN(100) == 0 {
		lines[len(lines)-1].item = Items + 1 // unused: the transaction is to roll back (clause 2.4.1.4)
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.supply, b.supply), cmp.Compare(a.item, b.item))
	})
	for _, l := range lines {
		in.items, in.supply = append(in.items, l.item), append(in.supply, l.supply)
		in.quantity = append(in.quantity, l.quantity)
	}
	in.cents, in.information = make([]int32, len(lines)), make([]string, len(lines))
	return func(ctx context.Context) (bool, error) {
		found, err := t.takeStock(ctx, in)
		if err != nil {
			return false, err
		}
		if found < len(in.items) {
			_, err := t.conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
			return true, err
		}
		return false, t.placeOrder(ctx, in)
	}
}

// takeStock is the first round trip: it takes the order's number and the stock, and returns how many items exist.
func (t *Terminal) takeStock(ctx context.Context, in *newOrderInput) (int, error) {
	var b pgx.Batch
	b.Queue("tpcc_begin")
	b.Queue("tpcc_no_customer", t.home, in.district, in.customer)
	b.Queue("tpcc_no_district", t.home, in.district)
	b.Queue("tpcc_no_items", in.items)
	b.Queue("tpcc_no_stock", in.items, in.supply, in.quantity, in.district, t.home)
	r := t.conn.SendBatch(ctx, &b)
	defer r.Close()
	if err := discard(r, 1); err != nil {
		return 0, err
	}
	var last, credit string
	var warehouseTax, districtTax float64
	if err := r.QueryRow().Scan(&in.discount, &last, &credit, &warehouseTax); err != nil {
		return 0, fmt.Errorf("find customer %d of district %d of warehouse %d: %w", in.customer, in.district, t.home, err)
	}
	if err := r.QueryRow().Scan(&in.order, &districtTax); err != nil {
		return 0, err
	}
	in.tax = warehouseTax + districtTax
	found, err := in.readItems(r)
	if err != nil {
		return 0, err
	}
	if err := in.readStock(r); err != nil {
		return 0, err
	}
	return found, r.Close()
}

func (in *newOrderInput) readItems(r pgx.BatchResults) (int, error) {
	rows, err := r.Query()
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var (
		found      int
		item       int32
		price      int32
		name, data string
	)
	for rows.Next() {
		if err := rows.Scan(&item, &price, &name, &data); err != nil {
			return 0, err
		}
		if i := slices.Index(in.items, item); i >= 0 {
			in.cents[i] = price * in.quantity[i]
			found++
		}
	}
	return found, rows.Err()
}

func (in *newOrderInput) readStock(r pgx.BatchResults) error {
	rows, err := r.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	var (
		item, quantity    int32
		data, information string
	)
	for rows.Next() {
		if err := rows.Scan(&item, &quantity, &data, &information); err != nil {
			return err
		}
		if i := slices.Index(in.items, item); i >= 0 {
			in.information[i] = information
		}
	}
	return rows.Err()
}

// placeOrder is the second round trip: it writes the order and commits.
func (t *Terminal) placeOrder(ctx context.Context, in *newOrderInput) error {
	var b pgx.Batch
	b.Queue("tpcc_no_new_order", t.home, in.district, in.order)
	b.Queue("tpcc_no_order", t.home, in.district, in.order, in.customer, in.entered, len(in.items), in.allLocal)
	b.Queue("tpcc_no_lines", t.home, in.district, in.order, in.items, in.supply, in.quantity, in.cents, in.information)
	if t.cfg.ConstantSize {
		b.Queue("tpcc_no_forget", t.home, in.district, in.order-OrdersPerDistrict)
	}
	b.Queue("tpcc_commit")
	return t.conn.SendBatch(ctx, &b).Close()
}
