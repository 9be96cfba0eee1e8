\set VERBOSITY verbose
\pset null '(null)'
\d item
SELECT count(*), sum(price), min(day), max(at) FROM item;
SELECT flag, count(*) AS n FROM item GROUP BY flag ORDER BY flag NULLS LAST;
SELECT nosuch FROM item;
SELECT id, name, price FROM item WHERE price > 90 ORDER BY id \gdesc
SELECT id, name, price FROM item WHERE price > 90 ORDER BY id;
SELECT count(*) FROM item WHERE price > $1 \bind 50 \g
BEGIN READ ONLY;
SELECT count(*) FROM item;
DECLARE c CURSOR FOR SELECT id FROM item ORDER BY id;
FETCH 3 FROM c;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT count(*), sum(price) FROM item;
\d item
\dt item
\du postgres
;
SELECT max(id) FROM item;
\set FETCH_COUNT 7
SELECT id, name FROM item ORDER BY id LIMIT 20;
SELECT id FROM item WHERE id < 0;
\unset FETCH_COUNT
DECLARE c SCROLL CURSOR FOR SELECT id FROM item WHERE id > 5 ORDER BY id;
FETCH 3 FROM c;
FETCH PRIOR FROM c;
FETCH LAST FROM c;
MOVE BACKWARD ALL IN c;
FETCH c;
CLOSE c;
FETCH c;
ROLLBACK;
\set FETCH_COUNT 7
SELECT id FROM item ORDER BY id LIMIT 20;
\unset FETCH_COUNT
CREATE TEMP TABLE t (a int, b text);
COPY t FROM STDIN;
1	one
2	\N
\.
SELECT * FROM t ORDER BY a;
\copy (SELECT id FROM item ORDER BY id LIMIT 3) TO STDOUT
\copy t FROM STDIN
x	bad
\.
DISCARD ALL;
SET search_path = pg_catalog;
SELECT count(*) FROM item;
RESET search_path;
SELECT 1 \; SELECT count(*) FROM item \; SELECT 3;
DO $$ BEGIN RAISE NOTICE 'a notice'; END $$;
SELECT 1/count(*) FILTER (WHERE id < 0) FROM item;
