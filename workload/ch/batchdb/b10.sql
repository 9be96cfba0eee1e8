SELECT sum(ol_amount)
FROM order_line
WHERE ol_delivery_d >= $1::timestamp
