package consistency

import "github.com/freshet-io/freshet/workload/invariant"

// Conditions returns the checks of conditions 1 to 12. With constantSize, for databases whose New-Order deletes
// old orders, it leaves out 10, 11 and 12, which compare customers with all their orders.
func Conditions(constantSize bool) []invariant.Check {
	checks := append([]invariant.Check(nil), always...)
	if !constantSize {
		checks = append(checks, withAllOrders...)
	}
	return checks
}

var always = []invariant.Check{
	{Name: "condition 1", SQL: `
SELECT w_id, w_ytd, districts
FROM warehouse
LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS districts FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE districts IS NULL OR w_ytd <> districts`},

	{Name: "condition 2", SQL: `
SELECT d_w_id, d_id, d_next_o_id, last_order, last_new_order
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS o
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_new_order FROM new_order GROUP BY no_w_id, no_d_id) AS n
  ON no_w_id = d_w_id AND no_d_id = d_id
WHERE last_order IS NULL OR d_next_o_id - 1 <> last_order OR d_next_o_id - 1 <> last_new_order`},

	{Name: "condition 3", SQL: `
SELECT no_w_id, no_d_id, min(no_o_id) AS first, max(no_o_id) AS last, count(*) AS new_orders
FROM new_order
GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)`},

	{Name: "condition 4", SQL: `
SELECT o_w_id, o_d_id, promised, present
FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS promised FROM orders GROUP BY o_w_id, o_d_id) AS o
LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS present FROM order_line GROUP BY ol_w_id, ol_d_id) AS l
  ON ol_w_id = o_w_id AND ol_d_id = o_d_id
WHERE present IS NULL OR promised <> present`},

	{Name: "condition 5", SQL: `
SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id
FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)`},

	{Name: "condition 5, new orders without an order", SQL: `
SELECT no_w_id, no_d_id, no_o_id
FROM new_order
LEFT JOIN orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_id IS NULL`},

	{Name: "condition 6", SQL: `
SELECT o_w_id, o_d_id, o_id, o_ol_cnt, present
FROM orders
LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS present
           FROM order_line
           GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
  ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE present IS NULL OR present <> o_ol_cnt`},

	{Name: "condition 7", SQL: `
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id
FROM order_line
JOIN orders ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)`},

	{Name: "condition 8", SQL: `
SELECT w_id, w_ytd, paid
FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE paid IS NULL OR w_ytd <> paid`},

	{Name: "condition 9", SQL: `
SELECT d_w_id, d_id, d_ytd, paid
FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS h
  ON h_w_id = d_w_id AND h_d_id = d_id
WHERE paid IS NULL OR d_ytd <> paid`},
}

var withAllOrders = []invariant.Check{
	{Name: "condition 10", SQL: `
SELECT c_w_id, c_d_id, c_id, c_balance, delivered, paid
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
           FROM orders
           JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           WHERE ol_delivery_d IS NOT NULL
           GROUP BY o_w_id, o_d_id, o_c_id) AS o
  ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid
           FROM history
           GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h
  ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE paid IS NULL OR c_balance <> coalesce(delivered, 0) - paid`},

	// The clause counts delivered orders as 2,100, which holds for the initial population. Every
	// delivery since then has added one to its customer's count.
	{Name: "condition 11", SQL: `
SELECT o_w_id, o_d_id, order_count, new_orders, deliveries
FROM (SELECT o_w_id, o_d_id, count(*) AS order_count FROM orders GROUP BY o_w_id, o_d_id) AS o
JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS deliveries FROM customer GROUP BY c_w_id, c_d_id) AS c
  ON c_w_id = o_w_id AND c_d_id = o_d_id
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS new_orders FROM new_order GROUP BY no_w_id, no_d_id) AS n
  ON no_w_id = o_w_id AND no_d_id = o_d_id
WHERE order_count - coalesce(new_orders, 0) <> 2100 + deliveries`},

	{Name: "condition 12", SQL: `
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
           FROM orders
           JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           WHERE ol_delivery_d IS NOT NULL
           GROUP BY o_w_id, o_d_id, o_c_id) AS o
  ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0)`},
}
