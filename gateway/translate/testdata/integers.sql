-- 23 23 20
SELECT id + 1, id / 2, id::int8 * 3 FROM item WHERE id % 7 = -1
