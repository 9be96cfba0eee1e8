-- 25 20 1700 1082
SELECT c."home.town", count(*), avg(l.quantity), max(s.day) FROM line l, sale s, customer c WHERE l.sale = s.id AND s.customer = c.id AND l.quantity > 0 GROUP BY c."home.town"
