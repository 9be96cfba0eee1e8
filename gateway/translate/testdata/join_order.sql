-- 25 23
SELECT i.name, s.customer FROM line l, sale s, item i WHERE l.sale = s.id AND l.item = i.id AND i.price > 1 AND s.day = DATE '2024-01-01'
