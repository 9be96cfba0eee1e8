-- 701 701 23
SELECT percent_rank() OVER w, cume_dist() OVER w, ntile(4) OVER (PARTITION BY customer ORDER BY day, id) FROM sale WINDOW w AS (PARTITION BY customer ORDER BY day)
