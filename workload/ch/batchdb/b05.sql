SELECT sum(ol_amount)
FROM region cr, region sr, nation cn, nation sn, customer, supplier, orders, order_line
WHERE cn.n_regionkey = cr.r_regionkey
  AND sn.n_regionkey = sr.r_regionkey
  AND ascii(substr(c_state, 1, 1)) = cn.n_nationkey
  AND su_nationkey = sn.n_nationkey
  AND mod((ol_supply_w_id * ol_i_id), 10000) = su_suppkey
  AND c_id = o_c_id
  AND c_w_id = o_w_id
  AND c_d_id = o_d_id
  AND ol_w_id = o_w_id
  AND ol_d_id = o_d_id
  AND ol_o_id = o_id
  AND cr.r_name = $1
  AND sr.r_name = $1
