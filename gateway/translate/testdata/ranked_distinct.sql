-- 25 23
SELECT DISTINCT german, id FROM place ORDER BY id, german DESC OFFSET 5
