-- 20
SELECT count(*) FROM sale s WHERE s.id IN (SELECT l.sale FROM line l WHERE l.quantity > 1) AND s.id::text LIKE '1%' AND s.customer > 5
