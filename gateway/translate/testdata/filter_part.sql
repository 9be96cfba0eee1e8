-- 20
SELECT sum(quantity) FROM line, item WHERE line.item = item.id AND item.name LIKE 'a%'
