SELECT sum(ol_amount)
FROM region cr, nation cn, nation sn, customer, orders, order_line, item, supplier
WHERE cn.n_regionkey = cr.r_regionkey
  AND ascii(substr(c_state, 1, 1)) = cn.n_nationkey
  AND su_nationkey = sn.n_nationkey
  AND mod((ol_supply_w_id * ol_i_id), 10000) = su_suppkey
  AND ol_i_id = i_id
  AND c_id = o_c_id
  AND c_w_id = o_w_id
  AND c_d_id = o_d_id
  AND ol_w_id = o_w_id
  AND ol_d_id = o_d_id
  AND ol_o_id = o_id
  AND cr.r_name = $1
  AND sn.n_name = $2
  AND i_data LIKE $3
