SELECT sum(ol_amount)
FROM nation cn, nation sn, customer, supplier, stock, orders, order_line
WHERE ascii(substr(c_state, 1, 1)) = cn.n_nationkey
  AND su_nationkey = sn.n_nationkey
  AND mod((s_w_id * s_i_id), 10000) = su_suppkey
  AND ol_supply_w_id = s_w_id
  AND ol_i_id = s_i_id
  AND c_id = o_c_id
  AND c_w_id = o_w_id
  AND c_d_id = o_d_id
  AND ol_w_id = o_w_id
  AND ol_d_id = o_d_id
  AND ol_o_id = o_id
  AND cn.n_name = $1
  AND sn.n_name = $1
  AND ol_delivery_d BETWEEN DATE '2000-01-01' AND DATE '2050-12-31'
