WITH RECURSIVE base(oid, bottom, modifier) AS (
    SELECT t.oid, t.typbasetype, t.typtypmod FROM pg_type t WHERE t.typtype = 'd' AND :typesonly
  UNION ALL
    SELECT b.oid, t.typbasetype, CASE WHEN t.typtypmod >= 0 THEN t.typtypmod ELSE b.modifier END
    FROM base b JOIN pg_type t ON t.oid = b.bottom WHERE t.typtype = 'd'
), partition(root, oid) AS (
    -- pg_partition_tree would wait for locks on the tables.
    SELECT c.oid, c.oid FROM pg_class c WHERE c.relkind = 'p' AND NOT c.relispartition AND :only
  UNION ALL
    SELECT p.root, h.inhrelid FROM partition p JOIN pg_inherits h ON h.inhparent = p.oid AND NOT h.inhdetachpending
), leaf AS (
    SELECT p.root, l.oid, l.relkind, l.relpersistence, l.relreplident
    FROM partition p JOIN pg_class l ON l.oid = p.oid WHERE l.relkind <> 'p'
), collation_order AS (
    -- The default collation's order is the database's. Column names differ between 14 and 18.
    SELECT l.oid, l.collisdeterministic AS deterministic, quote_ident(s.nspname) || '.' || quote_ident(l.collname) AS name,
        CASE coalesce(nullif(l.collprovider, 'd')::text, to_jsonb(d)->>'datlocprovider', 'c')
            WHEN 'b' THEN true
            WHEN 'c' THEN (CASE WHEN l.collprovider = 'd' THEN d.datcollate ELSE l.collcollate END)
                IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8', 'C.UTF8')
            ELSE false
        END AND coalesce(CASE WHEN l.collprovider = 'd' THEN to_jsonb(d)->>'datlocale'
            ELSE to_jsonb(l)->>'colllocale' END, 'C') IN ('C', 'C.UTF-8', 'PG_UNICODE_FAST') AS bytewise
    FROM pg_collation l JOIN pg_namespace s ON s.oid = l.collnamespace, pg_database d WHERE d.datname = current_database()
)
SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relreplident::text, c.relrowsecurity,
    pg_has_role(c.relowner, 'USAGE'),
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
    c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid),
    current_setting('server_version_num')::int,
    -- Later than the snapshot of all else: what it sees was committed before.
    (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint,
    :version,
    :published,
    (SELECT coalesce(json_agg(json_build_object(
            'name', a.attname, 'attr', a.attnum, 'type', a.atttypid::bigint, 'modifier', a.atttypmod,
            'typename', format_type(a.atttypid, a.atttypmod), 'typekind', t.typtype,
            -- From 18 on a NOT NULL constraint may be not yet valid.
            'notnull', a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid
                AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated),
            'generated', a.attgenerated, 'bytewise', coalesce(o.bytewise, true),
            'deterministic', coalesce(o.deterministic, true), 'collation', coalesce(o.name, ''),
            'basetype', coalesce(b.bottom::bigint, 0), 'basekind', coalesce(bt.typtype, ''),
            'basemodifier', coalesce(b.modifier, -1),
            'labels', (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e
                WHERE e.enumtypid = coalesce(b.bottom, a.atttypid))) ORDER BY a.attnum), '[]')
        FROM pg_attribute a
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN collation_order o ON o.oid = a.attcollation
        LEFT JOIN (base b JOIN pg_type bt ON bt.oid = b.bottom AND bt.typtype <> 'd') ON b.oid = a.atttypid
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text,
    (SELECT coalesce(json_agg(json_build_object(
            'primary', x.indisprimary, 'identity', x.indisreplident, 'unique', x.indisunique,
            'immediate', x.indimmediate, 'valid', x.indisvalid,
            'plain', x.indpred IS NULL AND x.indexprs IS NULL,
            'attrs', (x.indkey::int2[])[0:x.indnkeyatts - 1]) ORDER BY x.indexrelid), '[]')
        FROM pg_index x WHERE x.indrelid = c.oid)::text,
    (SELECT coalesce(json_agg(json_build_object(
            'id', l.oid::bigint, 'kind', l.relkind, 'persistence', l.relpersistence, 'identity', l.relreplident)), '[]')
        FROM leaf l WHERE l.root = c.oid)::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND NOT c.relispartition
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
    AND :only
ORDER BY n.nspname, c.relname
