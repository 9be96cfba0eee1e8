-- 1186 1700 20
SELECT avg(at - day), sum(extract(epoch from at - day)), count(*) FILTER (WHERE at - day > interval '2 days 3 hours') FROM line JOIN sale ON sale = id WHERE quantity > 3
