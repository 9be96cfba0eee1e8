-- 25 20 20
SELECT name, count(*), sum(id) FILTER (WHERE price > 1) FROM item GROUP BY name HAVING count(price) > 1 ORDER BY 2 DESC, name COLLATE "C" LIMIT 3
