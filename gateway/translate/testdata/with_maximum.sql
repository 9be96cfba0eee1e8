-- 23 20
WITH w AS (SELECT item, sum(quantity) AS total FROM line GROUP BY item) SELECT i.id, w.total FROM item i, w WHERE i.id = w.item AND w.total = (SELECT max(x.total) FROM w x)
