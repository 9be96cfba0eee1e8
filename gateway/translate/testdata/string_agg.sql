-- 25 25 25
SELECT string_agg(name, ', ' ORDER BY price DESC NULLS LAST, id DESC) FILTER (WHERE price > 1), string_agg(DISTINCT name, '' ORDER BY name), any_value(code::text) FROM item GROUP BY made
