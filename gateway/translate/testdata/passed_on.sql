-- 25 1082
SELECT i.name, s.day FROM line l, sale s, item i WHERE l.sale = s.id AND s.customer = l.item AND l.item = i.id AND i.name LIKE 'a%'
