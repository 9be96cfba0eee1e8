package bench

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/ch"
)

// reports are what people ask of orders who do not write benchmarks. The rows of each are in one order only.
var reports = []ch.Query{
	{Name: "by name, as a language sorts", SQL: "SELECT c_last, count(*), sum(c_balance) FROM customer GROUP BY c_last ORDER BY c_last", Order: []int{0}},
	{Name: "best customers by city", SQL: "SELECT c_city, c_balance, c_id FROM customer WHERE c_ytd_payment > 5000 ORDER BY c_city DESC, c_balance, c_w_id, c_d_id, c_id LIMIT 100", Order: []int{0, 1, 2}},
	{Name: "rollup", SQL: "SELECT ol_w_id, ol_d_id, GROUPING(ol_w_id, ol_d_id), sum(ol_amount) FROM order_line GROUP BY ROLLUP(ol_w_id, ol_d_id) ORDER BY 3, 1, 2", Order: []int{2, 0, 1}},
	{Name: "standard deviation", SQL: "SELECT ol_w_id, avg(ol_amount), stddev(ol_amount) FROM order_line GROUP BY ol_w_id ORDER BY ol_w_id", Order: []int{0}},
	{Name: "median", SQL: "SELECT ol_quantity, percentile_disc(0.5) WITHIN GROUP (ORDER BY ol_amount) FROM order_line GROUP BY ol_quantity ORDER BY ol_quantity", Order: []int{0}},
	{Name: "time to deliver", SQL: `SELECT o_w_id, avg(ol_delivery_d - o_entry_d), max(ol_delivery_d - o_entry_d), count(*) FILTER (WHERE ol_delivery_d - o_entry_d > interval '1 hour')
FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id ORDER BY o_w_id`, Order: []int{0}},
	{Name: "names in a row", SQL: "SELECT c_w_id, c_d_id, string_agg(c_first, ', ' ORDER BY c_first) FROM customer WHERE c_credit = 'BC' GROUP BY c_w_id, c_d_id ORDER BY c_w_id, c_d_id", Order: []int{0, 1}},
	{Name: "quartiles", SQL: `SELECT quarter, count(*), min(amount), max(amount) FROM (SELECT sum(ol_amount) AS amount, ntile(4) OVER (ORDER BY sum(ol_amount), ol_i_id) AS quarter
FROM order_line GROUP BY ol_i_id) AS items GROUP BY quarter ORDER BY quarter`, Order: []int{0}},
	{Name: "one key of documents", SQL: "SELECT c_doc->>'state', count(*) FROM customer GROUP BY 1 ORDER BY 1", Order: []int{0}},
	{Name: "four keys of documents", SQL: `SELECT c_doc->>'state', c_doc->'terms'->>'credit', count(*), sum((c_doc->>'payments')::int) FROM customer
WHERE c_doc->>'kind' = 'retail' GROUP BY 1, 2 ORDER BY 1, 2`, Order: []int{0, 1}},
	{Name: "tags of an array", SQL: "SELECT tag, count(*) FROM customer, unnest(c_tags) AS tag GROUP BY tag ORDER BY tag", Order: []int{0}},
	{Name: "table with an address", SQL: "SELECT c_state, count(*), avg(c_balance) FROM (SELECT * FROM customer) AS c GROUP BY c_state ORDER BY c_state", Order: []int{0}},
}

// asPeopleHaveIt gives the data what tables have that were not made for benchmarks: names in a language's order, arrays,
// documents of some 300 bytes, and a column that is left out of the replica.
const asPeopleHaveIt = `ALTER TABLE customer ALTER c_last TYPE varchar(16) COLLATE "en-x-icu", ALTER c_city TYPE varchar(20) COLLATE "en-x-icu",
	ADD COLUMN c_tags text[] DEFAULT '{new,"in arrears"}', ADD COLUMN c_doc jsonb, ADD COLUMN c_address inet DEFAULT '192.0.2.1';
UPDATE customer SET c_tags[1] = (ARRAY['new', 'known', 'good'])[c_id % 3 + 1], c_doc = jsonb_build_object('kind', (ARRAY['retail', 'trade', 'public'])[c_id % 3 + 1], 'name', concat_ws(' ', c_first, c_middle, c_last), 'state', c_state, 'city', c_city,
	'street', c_street_1, 'phone', c_phone, 'payments', c_payment_cnt, 'active', c_id % 2 = 0, 'labels', jsonb_build_array('new', 'x' || c_id % 7),
	'terms', jsonb_build_object('credit', c_credit, 'limit', c_credit_lim, 'discount', c_discount), 'page', 'https://example.com/customers/' || c_id)`

// Reports runs reports on both stores, one at a time, and compares the answers.
func Reports(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Rig.Prepare = func(ctx context.Context, conn *pgx.Conn) error {
		if err := createMarker(ctx, conn); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, asPeopleHaveIt)
		return err
	}
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	if err := r.Vacuum(ctx); err != nil {
		return nil, err
	}
	out := &QuerySpeeds{}
	if err := out.measure(ctx, o, r, reports); err != nil {
		return nil, err
	}
	result := o.header("reports", "Reports on both stores, one at a time")
	result.Data = out
	result.Tables, result.Charts = []report.Table{out.table()}, []report.Chart{out.chart()}
	out.judge(result, 5)
	return result, nil
}
