-- 23 25 20 20 23
SELECT i.id, i.name, sum(l.quantity), count(*), GROUPING(i.id, i.name) FROM item i JOIN line l ON l.item = i.id GROUP BY ROLLUP(i.id, i.name) HAVING count(*) > 1 ORDER BY 1, 2
