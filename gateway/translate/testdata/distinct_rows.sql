-- 20 23 23
SELECT count(DISTINCT (name, id)), bit_or(quantity), bit_and(id + number) FROM item JOIN line ON item = id GROUP BY code
