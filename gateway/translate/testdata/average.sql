-- 20
SELECT sum(l.quantity) FROM line l, (SELECT item, avg(quantity) AS a FROM line GROUP BY item) t WHERE l.item = t.item AND l.quantity < t.a
