-- 23
SELECT id FROM item WHERE id NOT IN (SELECT quantity FROM line)
