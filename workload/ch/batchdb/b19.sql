SELECT sum(ol_amount)
FROM item, order_line
WHERE ol_i_id = i_id
  AND i_data LIKE $1
  AND i_price BETWEEN $2::integer AND $2::integer + 10
  AND ol_quantity BETWEEN 1 AND 10
