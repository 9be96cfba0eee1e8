-- 1114 23 23
SELECT m, i, item.id FROM generate_series('2024-03-31'::timestamp, '2023-12-01', '-1 month') m, generate_series(1, 3) AS n(i) JOIN item ON item.id = i
