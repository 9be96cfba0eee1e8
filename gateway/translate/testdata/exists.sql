-- 23
SELECT id FROM item i WHERE NOT EXISTS (SELECT 1 FROM line l WHERE l.item = i.id AND l.quantity > i.id)
