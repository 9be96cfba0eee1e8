-- 23
SELECT id FROM item WHERE translate(name, 'ab-a ', 'xy') = 'c' AND name ^@ 'é' AND replace(name, chr(10), '') <> name
