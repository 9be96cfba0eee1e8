-- 20
SELECT count(id % id) FROM item WHERE 1 / id IS NOT NULL
