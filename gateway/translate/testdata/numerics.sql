-- 1700 1700
SELECT price * 1.5, round(price, 1) FROM item WHERE price >= 10
