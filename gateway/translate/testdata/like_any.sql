-- 23
SELECT id FROM item WHERE name LIKE ANY (ARRAY['a%', '%b']) AND name NOT LIKE ALL ('{"c_", d}') AND name ILIKE ANY (ARRAY['x%', NULL])
