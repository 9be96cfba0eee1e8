SELECT sum(ol_amount), sum(ol_quantity)
FROM item, order_line
WHERE ol_i_id = i_id
  AND i_data LIKE $1
  AND ol_quantity >= $2
