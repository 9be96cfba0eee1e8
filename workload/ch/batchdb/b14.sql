SELECT sum(ol_amount)
FROM item, order_line
WHERE ol_i_id = i_id
  AND i_data LIKE $1
  AND ol_delivery_d >= $2::timestamp
