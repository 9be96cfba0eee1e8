SELECT count(*)
FROM item, supplier, order_line
WHERE ol_i_id = i_id
  AND mod((ol_supply_w_id * ol_i_id), 10000) = su_suppkey
  AND i_data NOT LIKE $1
  AND su_comment LIKE '%Complaints%'
