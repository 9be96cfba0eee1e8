-- 25 20 1700
SELECT p.german, count(*), avg(s.customer) FROM place p JOIN sale s ON s.id = p.id GROUP BY p.german ORDER BY count(*) DESC, p.german NULLS FIRST LIMIT 10
