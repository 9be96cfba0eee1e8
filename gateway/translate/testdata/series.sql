-- 1082 20
WITH days AS (SELECT generate_series('2024-01-01'::timestamp, '2024-01-05', '1 day')::date AS day) SELECT day, count(item.id) FROM days LEFT JOIN item ON made = day GROUP BY day ORDER BY day
