-- The offsets of the session's time zone between the instants $1 and $2, and when they change: looked for by days, then by minutes, then by seconds.
WITH day AS (
    SELECT t, (extract(epoch FROM to_timestamp(t)::timestamp) - t)::int AS o
    FROM generate_series($1::bigint, $2::bigint, 86400) t
), in_day AS (
    SELECT t - 86400 AS a, t AS b FROM (SELECT t, o, lag(o) OVER (ORDER BY t) AS before FROM day) d WHERE o <> before
), minute AS (
    SELECT b, t, (extract(epoch FROM to_timestamp(t)::timestamp) - t)::int AS o
    FROM in_day, generate_series(a, b, 60) t
), in_minute AS (
    SELECT t - 60 AS a, t AS b FROM (SELECT t, o, lag(o) OVER (PARTITION BY b ORDER BY t) AS before FROM minute) m WHERE o <> before
), second AS (
    SELECT b, t, (extract(epoch FROM to_timestamp(t)::timestamp) - t)::int AS o
    FROM in_minute, generate_series(a, b) t
)
SELECT t, o FROM day WHERE t = $1
UNION ALL
SELECT t, o FROM (SELECT t, o, lag(o) OVER (PARTITION BY b ORDER BY t) AS before FROM second) s WHERE o <> before
ORDER BY 1
