SELECT sum(ol_amount)
FROM order_line, item
WHERE ol_i_id = i_id
  AND i_data LIKE $1
