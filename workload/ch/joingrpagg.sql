SELECT c_w_id, c_d_id, c_id, c_last, count(*) AS order_count
FROM customer, orders
WHERE c_id = o_c_id
  AND c_w_id = o_w_id
  AND c_d_id = o_d_id
  AND c_state = $1
GROUP BY c_w_id, c_d_id, c_id, c_last
ORDER BY order_count DESC, c_w_id, c_d_id, c_id
LIMIT 10
