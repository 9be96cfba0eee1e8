-- The view that a name means in a list of schemas ($1, $2), with its definition; no row where it means none, or no view.
SELECT c.oid, n.nspname::text, c.relname::text,
    CASE WHEN EXISTS (SELECT FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'security_invoker' AND o.option_value::boolean)
        THEN 0 ELSE c.relowner END,
    EXISTS (SELECT FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'security_barrier' AND o.option_value::boolean),
    pg_get_viewdef(c.oid),
    :version,
    (SELECT coalesce(json_agg(json_build_object('name', a.attname, 'attr', a.attnum,
            'type', (CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END)::bigint) ORDER BY a.attnum), '[]')
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text,
    (SELECT coalesce(array_agg(DISTINCT d.refobjid), '{}')
        FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
        WHERE r.ev_class = c.oid AND r.ev_type = '1' AND d.refobjid <> c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v' AND c.oid = (
    SELECT r.oid FROM unnest($1::text[]) WITH ORDINALITY p(name, place)
    JOIN pg_namespace s ON s.nspname = p.name JOIN pg_class r ON r.relnamespace = s.oid AND r.relname = $2
    ORDER BY p.place LIMIT 1)
