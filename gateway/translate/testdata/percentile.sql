-- 25 701 23
SELECT name, percentile_cont(0.5) WITHIN GROUP (ORDER BY price), percentile_disc(0.95) WITHIN GROUP (ORDER BY id) FILTER (WHERE id > 3) FROM item GROUP BY name
