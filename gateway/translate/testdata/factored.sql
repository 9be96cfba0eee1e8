-- 20
SELECT count(*) FROM item, line WHERE item.id = line.item AND quantity = 1 AND price < 1 OR item.id = line.item AND quantity = 2 AND price > 2
