-- An expression over pg_class c and its pg_namespace n: a table's or a view's version, which changes with everything that
-- changes the table's rows or their meaning without row changes in the stream. Beside the names these are
--   its attributes' rows, which every ALTER COLUMN rewrites, also one that rewrites values and keeps the type;
--   the partitions (or children) at every level, since when they are that, and their files: one that comes, goes, changes
--   while it is detached or is truncated by itself is not streamed (a file that VACUUM FULL or CLUSTER renewed looks the same);
--   the labels of enumerations in their order, and their rows, for a label may have had another name in between;
--   row-level security;
--   of a view its query's row, its owner and its options, and the user-defined types that the query has constants of or casts to, with their
--   labels: the query is kept as it was printed, which is by their names at that time.
-- A file of the table's own is left out: TRUNCATE is streamed, VACUUM FULL and CLUSTER change no row.
md5(concat_ws('/', n.nspname, c.relname, c.relrowsecurity,
    CASE WHEN c.relkind = 'v' THEN (SELECT concat(r.oid, ':', r.xmin, ':', c.relowner, c.reloptions)
        FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '1') END,
    CASE WHEN c.relkind = 'v' THEN (
        WITH RECURSIVE used(oid) AS (
                SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                WHERE r.ev_class = c.oid AND r.ev_type = '1' AND d.refclassid = 'pg_type'::regclass
              UNION
                SELECT below.oid FROM used u JOIN pg_type t ON t.oid = u.oid, LATERAL (VALUES (t.typbasetype), (t.typelem)) below(oid) WHERE below.oid >= 16384)
            SELECT string_agg(concat_ws(':', t.oid, s.nspname, t.typname,
                (SELECT string_agg(concat_ws(':', e.oid, e.xmin, e.enumlabel), '<' ORDER BY e.oid) FROM pg_enum e WHERE e.enumtypid = t.oid)), ',' ORDER BY t.oid)
            FROM used u JOIN pg_type t ON t.oid = u.oid JOIN pg_namespace s ON s.oid = t.typnamespace) END,
    (SELECT string_agg(a.attnum || ':' || a.xmin::text, ',' ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0),
    -- pg_partition_tree would wait for locks on the tables.
    (WITH RECURSIVE part(oid, since) AS (
            SELECT h.inhrelid, h.xmin::text FROM pg_inherits h WHERE h.inhparent = c.oid AND NOT h.inhdetachpending
          UNION ALL
            SELECT h.inhrelid, h.xmin::text FROM part p JOIN pg_inherits h ON h.inhparent = p.oid AND NOT h.inhdetachpending)
        SELECT string_agg(concat_ws(':', l.oid, p.since, CASE WHEN l.relkind <> 'p' THEN l.relfilenode END), ',' ORDER BY l.oid, p.since)
        FROM part p JOIN pg_class l ON l.oid = p.oid),
    (WITH RECURSIVE used(oid) AS (
            SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.atttypid >= 16384
          UNION
            SELECT t.typbasetype FROM used u JOIN pg_type t ON t.oid = u.oid WHERE t.typbasetype <> 0)
        SELECT string_agg(concat_ws(':', e.oid, e.xmin, e.enumlabel), '<' ORDER BY e.enumtypid, e.enumsortorder)
        FROM used u JOIN pg_enum e ON e.enumtypid = u.oid)))
