-- 23 20
SELECT i.id, l.sale FROM item i LEFT JOIN line l ON l.item = i.id AND l.quantity > 1 WHERE i.code = 'a'
