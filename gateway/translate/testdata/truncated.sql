-- 1186
SELECT at - date_trunc('hour', at) FROM line
