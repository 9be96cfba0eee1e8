SELECT sum(ol_amount)
FROM nation, customer, orders, order_line
WHERE ascii(substr(c_state, 1, 1)) = n_nationkey
  AND c_id = o_c_id
  AND c_w_id = o_w_id
  AND c_d_id = o_d_id
  AND ol_w_id = o_w_id
  AND ol_d_id = o_d_id
  AND ol_o_id = o_id
  AND n_name = $1
