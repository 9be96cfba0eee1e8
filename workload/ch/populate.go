package ch

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The sizes of TPC-C's initial population (clause 4.3.3), per warehouse or district, and of the
// tables that CH-benCHmark adds.
const (
	Items                = 100_000
	Districts            = 10
	CustomersPerDistrict = 3_000
	OrdersPerDistrict    = 3_000
	Suppliers            = 10_000
	firstUndelivered     = 2_101
)

// loaded is the clock of the initial population; orders follow each other by a minute.
var loaded = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// copyUnit is what one COPY loads.
type copyUnit struct {
	table, columns string
	count          int // exact, but for order_line: expected
	rows           func(*rows) error
}

// units lists the whole population in an order that keeps parallel loaders evenly busy.
func units(seed uint64, warehouses int) []copyUnit {
	us := []copyUnit{
		{"item", "", Items, func(r *rows) error { return items(r, seed) }},
		{"supplier", "", Suppliers, func(r *rows) error { return suppliers(r, seed) }},
		{"nation", "", len(nations), func(r *rows) error { return nationRows(r, seed) }},
		{"region", "", len(regions), func(r *rows) error { return regionRows(r, seed) }},
	}
	for w := 1; w <= warehouses; w++ {
		const customers = Districts * CustomersPerDistrict
		const orders = Districts * OrdersPerDistrict
		const undelivered = Districts * (OrdersPerDistrict - firstUndelivered + 1)
		us = append(us,
			copyUnit{"stock", "", Items, func(r *rows) error { return stock(r, seed, w) }},
			copyUnit{"order_line", "", orders * 10, func(r *rows) error { return orderLines(r, seed, w) }},
			copyUnit{"customer", "", customers, func(r *rows) error { return customerRows(r, seed, w) }},
			copyUnit{"orders", "", orders, func(r *rows) error { return orderRows(r, seed, w) }},
			copyUnit{"history", "(h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)", customers,
				func(r *rows) error { return historyRows(r, seed, w) }},
			copyUnit{"new_order", "", undelivered, func(r *rows) error { return newOrderRows(r, w) }},
			copyUnit{"district", "", Districts, func(r *rows) error { return districtRows(r, seed, w) }},
			copyUnit{"warehouse", "", 1, func(r *rows) error { return warehouseRow(r, seed, w) }},
		)
	}
	return us
}

func stringOf(rng *rand.Rand, low, high int) func([]byte) []byte {
	return func(b []byte) []byte { return appendString(b, rng, low, high) }
}

func digitsOf(rng *rand.Rand, low, high int) func([]byte) []byte {
	return func(b []byte) []byte { return appendDigits(b, rng, low, high) }
}

func (r *rows) address(rng *rand.Rand) *rows {
	r.make(stringOf(rng, 10, 20)).make(stringOf(rng, 10, 20)).make(stringOf(rng, 10, 20))
	return r.make(stringOf(rng, 2, 2)).make(func(b []byte) []byte { return appendZip(b, rng) })
}

func items(r *rows, seed uint64) error {
	rng := stream(seed, "item")
	for i := 1; i <= Items; i++ {
		r.int(i, between(rng, 1, 10_000)).make(stringOf(rng, 14, 24)).decimal(between(rng, 100, 10_000), 2)
		r.make(func(b []byte) []byte { return appendData(b, rng) })
		if err := r.end(); err != nil {
			return err
		}
	}
	return nil
}

func suppliers(r *rows, seed uint64) error {
	rng := stream(seed, "supplier")
	for s := range Suppliers {
		r.int(s).text(fmt.Sprintf("Supplier#%09d", s)).make(stringOf(rng, 10, 40))
		r.int(nations[rng.IntN(len(nations))].key).make(digitsOf(rng, 15, 15)).decimal(between(rng, -99_999, 999_999), 2)
		// As in TPC-H, five suppliers in 10,000 have complaints (Q16 looks for them) and five recommendations.
		switch rng.IntN(2000) {
		case 0:
			r.make(stringOf(rng, 10, 30)).line = append(r.line, " bad Customer Complaints"...)
		case 1:
			r.make(stringOf(rng, 10, 30)).line = append(r.line, " Customer Recommends"...)
		default:
			r.make(stringOf(rng, 25, 100))
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	return nil
}

func nationRows(r *rows, seed uint64) error {
	rng := stream(seed, "nation")
	for _, n := range nations {
		if err := r.int(n.key).text(n.name).int(n.region).make(stringOf(rng, 31, 114)).end(); err != nil {
			return err
		}
	}
	return nil
}

func regionRows(r *rows, seed uint64) error {
	rng := stream(seed, "region")
	for _, g := range regions {
		if err := r.int(g.key).text(g.name).make(stringOf(rng, 31, 115)).end(); err != nil {
			return err
		}
	}
	return nil
}

func warehouseRow(r *rows, seed uint64, w int) error {
	rng := stream(seed, "warehouse", w)
	r.int(w).make(stringOf(rng, 6, 10)).address(rng).decimal(between(rng, 0, 2_000), 4)
	return r.decimal(300_000_00, 2).end()
}

func districtRows(r *rows, seed uint64, w int) error {
	rng := stream(seed, "district", w)
	for d := 1; d <= Districts; d++ {
		r.int(d, w).make(stringOf(rng, 6, 10)).address(rng).decimal(between(rng, 0, 2_000), 4)
		if err := r.decimal(30_000_00, 2).int(OrdersPerDistrict + 1).end(); err != nil {
			return err
		}
	}
	return nil
}

func stock(r *rows, seed uint64, w int) error {
	rng := stream(seed, "stock", w)
	for i := 1; i <= Items; i++ {
		r.int(i, w, between(rng, 10, 100))
		for range Districts {
			r.make(stringOf(rng, 24, 24))
		}
		if err := r.int(0, 0, 0).make(func(b []byte) []byte { return appendData(b, rng) }).end(); err != nil {
			return err
		}
	}
	return nil
}

func customerRows(r *rows, seed uint64, w int) error {
	rng := stream(seed, "customer", w)
	for d := 1; d <= Districts; d++ {
		for c := 1; c <= CustomersPerDistrict; c++ {
			name := c - 1
			if name >= 1000 {
				name = nuRand(rng, 255, cLastLoad, 0, 999)
			}
			credit := "GC"
			if rng.IntN(10) == 0 {
				credit = "BC"
			}
			r.int(c, d, w).make(stringOf(rng, 8, 16)).text("OE").text(lastName(name)).address(rng)
			r.make(digitsOf(rng, 16, 16)).time(loaded).text(credit).decimal(50_000_00, 2)
			r.decimal(between(rng, 0, 5_000), 4).decimal(-10_00, 2).decimal(10_00, 2).int(1, 0)
			if err := r.make(stringOf(rng, 300, 500)).end(); err != nil {
				return err
			}
		}
	}
	return nil
}

func historyRows(r *rows, seed uint64, w int) error {
	rng := stream(seed, "history", w)
	for d := 1; d <= Districts; d++ {
		for c := 1; c <= CustomersPerDistrict; c++ {
			r.int(c, d, w, d, w).time(loaded).decimal(10_00, 2)
			if err := r.make(stringOf(rng, 12, 24)).end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// order is what orders and order_line must agree on.
type order struct{ id, customer, carrier, lines int }

func (o order) delivered() bool    { return o.id < firstUndelivered }
func (o order) entered() time.Time { return loaded.Add(time.Duration(o.id) * time.Minute) }

func districtOrders(seed uint64, w, d int) []order {
	rng := stream(seed, "orders", w, d)
	os := make([]order, OrdersPerDistrict)
	for i, c := range permutation(rng, CustomersPerDistrict) {
		os[i] = order{id: i + 1, customer: c, carrier: between(rng, 1, 10), lines: between(rng, 5, 15)}
	}
	return os
}

func orderRows(r *rows, seed uint64, w int) error {
	for d := 1; d <= Districts; d++ {
		for _, o := range districtOrders(seed, w, d) {
			r.int(o.id, d, w, o.customer).time(o.entered())
			if o.delivered() {
				r.int(o.carrier)
			} else {
				r.null()
			}
			if err := r.int(o.lines, 1).end(); err != nil {
				return err
			}
		}
	}
	return nil
}

func newOrderRows(r *rows, w int) error {
	for d := 1; d <= Districts; d++ {
		for o := firstUndelivered; o <= OrdersPerDistrict; o++ {
			if err := r.int(o, d, w).end(); err != nil {
				return err
			}
		}
	}
	return nil
}

func orderLines(r *rows, seed uint64, w int) error {
	rng := stream(seed, "order_line", w)
	for d := 1; d <= Districts; d++ {
		for _, o := range districtOrders(seed, w, d) {
			for n := 1; n <= o.lines; n++ {
				r.int(o.id, d, w, n, between(rng, 1, Items), w)
				amount := 0
				if o.delivered() {
					r.time(o.entered())
				} else {
					r.null()
					amount = between(rng, 1, 999_999)
				}
				if err := r.int(5).decimal(amount, 2).make(stringOf(rng, 24, 24)).end(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
