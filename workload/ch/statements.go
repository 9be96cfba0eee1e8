package ch

// middleCustomer selects by last name ($3) the customer in the middle of those ordered by first name.
const middleCustomer = `(SELECT c_id FROM (
	SELECT c_id, row_number() OVER (ORDER BY c_first) AS n, count(*) OVER () AS total
	FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named
	WHERE n = (total + 1) / 2)`

// pay updates the customer and writes the history row. The parameters are: the customer's warehouse, district
// and identification, the amount in cents, the warehouse and district paid at, and the time.
const pay = `WITH paid AS (
	UPDATE customer SET
		c_balance = c_balance - $4::integer * 0.01,
		c_ytd_payment = c_ytd_payment + $4::integer * 0.01,
		c_payment_cnt = c_payment_cnt + 1,
		c_data = CASE WHEN c_credit <> 'BC' THEN c_data ELSE
			left(concat_ws(' ', c_id, c_d_id, c_w_id, $6::integer, $5::integer, $4::integer, c_data), 500) END
	WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = `

const paid = `
	RETURNING c_id, c_first, c_last, c_credit, c_balance),
logged AS (
	INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
	SELECT paid.c_id, $2, $1, $6, $5, $7, $4::integer * 0.01, w_name || '    ' || d_name
	FROM paid, warehouse, district
	WHERE w_id = $5 AND d_w_id = $5 AND d_id = $6)
SELECT c_id, c_first, c_last, c_credit, c_balance::float8 FROM paid`

// statements are prepared once per terminal, under names that do not collide with a client's own.
var statements = []struct{ name, sql string }{
	{"tpcc_begin", `BEGIN`},
	{"tpcc_commit", `COMMIT`},

	{"tpcc_no_customer", `SELECT c_discount::float8, c_last, c_credit, w_tax::float8 FROM customer, warehouse
		WHERE w_id = $1 AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3`},
	{"tpcc_no_district", `UPDATE district SET d_next_o_id = d_next_o_id + 1
		WHERE d_w_id = $1 AND d_id = $2 RETURNING d_next_o_id - 1, d_tax::float8`},
	{"tpcc_no_items", `SELECT i_id, (i_price * 100)::integer, i_name, i_data FROM item WHERE i_id = ANY($1::integer[])`},
	{"tpcc_no_stock", `UPDATE stock SET
			s_quantity = CASE WHEN s_quantity - q >= 10 THEN s_quantity - q ELSE s_quantity - q + 91 END,
			s_ytd = s_ytd + q, s_order_cnt = s_order_cnt + 1,
			s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = $5 THEN 0 ELSE 1 END
		FROM unnest($1::integer[], $2::integer[], $3::integer[]) AS line (i, w, q)
		WHERE s_w_id = w AND s_i_id = i
		RETURNING s_i_id, s_quantity, s_data, CASE $4::integer
			WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
			WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
			WHEN 9 THEN s_dist_09 ELSE s_dist_10 END`},
	{"tpcc_no_order", `INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`},
	{"tpcc_no_new_order", `INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)`},
	{"tpcc_no_lines", `INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
			ol_quantity, ol_amount, ol_dist_info)
		SELECT $1, $2, $3, n, i, w, q, cents * 0.01, info
		FROM unnest($4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::text[])
			WITH ORDINALITY AS line (i, w, q, cents, info, n)`},
	{"tpcc_no_forget", `WITH old AS (
			DELETE FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 AND o_carrier_id IS NOT NULL
			RETURNING o_id)
		DELETE FROM order_line USING old WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = old.o_id`},

	{"tpcc_pay_id", pay + `$3::integer` + paid},
	{"tpcc_pay_name", pay + middleCustomer + paid},
	{"tpcc_pay_district", `UPDATE district SET d_ytd = d_ytd + $3::integer * 0.01 WHERE d_w_id = $1 AND d_id = $2
		RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip`},
	{"tpcc_pay_warehouse", `UPDATE warehouse SET w_ytd = w_ytd + $2::integer * 0.01 WHERE w_id = $1
		RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip`},

	{"tpcc_os_id", `SELECT c_id, c_first, c_middle, c_last, c_balance::float8 FROM customer
		WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3::integer`},
	{"tpcc_os_name", `SELECT c_id, c_first, c_middle, c_last, c_balance::float8 FROM customer
		WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = ` + middleCustomer},
	{"tpcc_os_lines", `SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount::float8,
			ol_delivery_d
		FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders
			WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1) AS latest, order_line
		WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id`},

	// Deliveries of one warehouse go one at a time: otherwise a later one could commit a district's second oldest order
	// before the oldest, or skip a district whose oldest order it waited for.
	{"tpcc_dl_lock", `SELECT pg_advisory_xact_lock(7226, $1::integer)`},
	{"tpcc_dl_oldest", `DELETE FROM new_order USING generate_series(1, 10) AS d, LATERAL (
			SELECT no_o_id AS oldest FROM new_order
			WHERE no_w_id = $1 AND no_d_id = d ORDER BY no_o_id LIMIT 1) AS o
		WHERE no_w_id = $1 AND no_d_id = d AND no_o_id = oldest
		RETURNING no_d_id, no_o_id`},
	{"tpcc_dl_orders", `UPDATE orders SET o_carrier_id = $4 FROM unnest($2::integer[], $3::integer[]) AS x (d, o)
		WHERE o_w_id = $1 AND o_d_id = d AND o_id = o RETURNING o_d_id, o_c_id`},
	{"tpcc_dl_lines", `WITH delivered AS (
			UPDATE order_line SET ol_delivery_d = $4 FROM unnest($2::integer[], $3::integer[]) AS x (d, o)
			WHERE ol_w_id = $1 AND ol_d_id = d AND ol_o_id = o RETURNING ol_d_id, ol_amount)
		SELECT ol_d_id, (sum(ol_amount) * 100)::integer FROM delivered GROUP BY ol_d_id`},
	{"tpcc_dl_customers", `UPDATE customer SET c_balance = c_balance + cents * 0.01, c_delivery_cnt = c_delivery_cnt + 1
		FROM unnest($2::integer[], $3::integer[], $4::integer[]) AS x (d, c, cents)
		WHERE c_w_id = $1 AND c_d_id = d AND c_id = c`},

	{"tpcc_sl_low", `SELECT count(DISTINCT s_i_id) FROM district, order_line, stock
		WHERE d_w_id = $1 AND d_id = $2
			AND ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
			AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $3`},
}
