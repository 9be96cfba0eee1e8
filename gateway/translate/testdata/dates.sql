-- 1700 1114
SELECT extract(year FROM at), date_trunc('month', at) FROM line WHERE at < date '2024-01-31' + interval '1 month'
