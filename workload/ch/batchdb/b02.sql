SELECT sum(s_quantity)
FROM region, nation, supplier, stock, item
WHERE n_regionkey = r_regionkey
  AND su_nationkey = n_nationkey
  AND mod((s_w_id * s_i_id), 10000) = su_suppkey
  AND s_i_id = i_id
  AND r_name = $1
  AND i_data LIKE $2
