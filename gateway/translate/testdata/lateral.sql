-- 23 20 1082
SELECT c.id, l.id, l.day FROM customer c LEFT JOIN LATERAL (SELECT s.id, s.day AS at, s.day FROM sale s WHERE s.customer = c.id AND s.day > '2024-01-01' ORDER BY 2 DESC, id LIMIT 3) l ON true, LATERAL (SELECT FROM item i WHERE i.id = c.id) AS o
