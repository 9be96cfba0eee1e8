-- 20
SELECT count(*) FROM item WHERE price >= (SELECT avg(price) FROM item WHERE price > 0)
