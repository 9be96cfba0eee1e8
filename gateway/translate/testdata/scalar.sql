-- 23
SELECT id FROM item i WHERE price > (SELECT count(*) FROM line l WHERE l.item = i.id)
