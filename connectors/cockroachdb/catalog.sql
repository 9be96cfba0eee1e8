-- The tables of the current database with their columns, primary keys and versions, one row each. Parameters: none.
-- Hidden columns and crdb_sql_type are CockroachDB's own additions to information_schema.columns.
SELECT
    c.oid::INT8,
    n.nspname,
    c.relname,
    (SELECT json_agg(json_build_object(
            'name', a.attname, 'type', a.atttypid::INT8, 'modifier', a.atttypmod, 'notnull', a.attnotnull, 'attr', a.attnum,
            'kind', t.typtype, 'typename', i.crdb_sql_type, 'hidden', i.is_hidden = 'YES',
            'virtual', i.is_generated IN ('ALWAYS', 'YES') AND coalesce(a.attgenerated::STRING, '') = 'v',
            'collation', coalesce(i.collation_name, '')))
        FROM pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
        JOIN information_schema.columns i ON i.table_schema = n.nspname AND i.table_name = c.relname AND i.column_name = a.attname
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::STRING,
    (SELECT json_agg(k.attname)
        FROM (SELECT a.attname FROM pg_catalog.pg_index x
            JOIN pg_catalog.pg_class ic ON ic.oid = x.indexrelid
            JOIN information_schema.statistics s ON s.table_schema = n.nspname AND s.table_name = c.relname AND s.index_name = ic.relname
                AND s.storing = 'NO' AND s.implicit = 'NO'
            JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = s.column_name
            WHERE x.indrelid = c.oid AND x.indisprimary ORDER BY s.seq_in_index) k)::STRING,
    (SELECT v.version::STRING FROM crdb_internal.tables v WHERE v.table_id = c.oid::INT8)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'crdb_internal', 'pg_extension')
ORDER BY n.nspname, c.relname
