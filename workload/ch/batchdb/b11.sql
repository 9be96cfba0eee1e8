SELECT sum(s_order_cnt)
FROM nation, supplier, stock
WHERE su_nationkey = n_nationkey
  AND mod((s_w_id * s_i_id), 10000) = su_suppkey
  AND n_name = $1
