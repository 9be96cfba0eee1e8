-- 701 23 701 701
SELECT date_part('year', made), weight::int, min(weight * 2 / price), percentile_cont(0.5) WITHIN GROUP (ORDER BY weight) FROM item GROUP BY 1, weight ORDER BY 1, weight DESC
