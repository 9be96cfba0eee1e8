-- 23 20
SELECT s.customer, count(*) FROM line l, sale s WHERE l.sale = s.id AND l.item = 7 AND l.number = 1 AND l.quantity > 3 GROUP BY s.customer
