-- 21 25 25
SELECT l.number, c.name, c."home.town" FROM line l, sale s, customer c WHERE l.sale = s.id AND s.customer = c.id AND c.name LIKE 'a%' AND l.at < s.day
