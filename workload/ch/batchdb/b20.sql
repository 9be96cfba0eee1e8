SELECT count(*)
FROM item, nation, supplier, order_line
WHERE ol_i_id = i_id
  AND mod((ol_supply_w_id * ol_i_id), 10000) = su_suppkey
  AND su_nationkey = n_nationkey
  AND i_data LIKE $1
  AND n_name = $2
