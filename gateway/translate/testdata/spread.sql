-- 25 1700 1700 20
SELECT name, stddev(price), var_pop(id), sum(DISTINCT id) FROM item GROUP BY name
