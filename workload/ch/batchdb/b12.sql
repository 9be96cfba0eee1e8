SELECT count(*)
FROM orders, order_line
WHERE ol_w_id = o_w_id
  AND ol_d_id = o_d_id
  AND ol_o_id = o_id
  AND ol_delivery_d >= $1::timestamp
  AND o_carrier_id BETWEEN 1 AND 2
