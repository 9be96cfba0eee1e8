-- 20 25 20 20
SELECT s.id, c.name, count(*), sum(l.quantity) FROM line l, sale s, customer c WHERE l.sale = s.id AND s.customer = c.id GROUP BY s.id, c.name HAVING sum(l.quantity) > 10
