-- 23
SELECT id FROM item WHERE id = ANY ('{1,2,3}') AND name = ANY ('{a,"b, c",NULL}'::text[]) AND made <> ALL ('{2024-01-01}'::date[]) AND code = ANY (ARRAY['a ', 'b']) AND price >= ALL ('{1.50,2}') AND id <> ANY (ARRAY[4, 5]) AND id <> ALL ('{}')
