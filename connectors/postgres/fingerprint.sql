SELECT md5(concat_ws('/',
    (SELECT string_agg(concat_ws(':', c.oid, c.xmin::text), ',' ORDER BY c.oid)
        FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND c.oid >= 16384),
    (SELECT sum(hashtextextended(concat_ws(':', a.attrelid, a.attnum, a.xmin::text), 0))
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relkind IN ('r', 'p') AND c.oid >= 16384 AND a.attnum > 0),
    (SELECT string_agg(concat_ws(':', x.indexrelid, x.xmin::text), ',' ORDER BY x.indexrelid)
        FROM pg_index x WHERE x.indrelid >= 16384),
    (SELECT string_agg(concat_ws(':', h.inhrelid, h.inhparent, h.xmin::text), ',' ORDER BY h.inhrelid) FROM pg_inherits h),
    (SELECT string_agg(concat_ws(':', k.oid, k.xmin::text), ',' ORDER BY k.oid)
        FROM pg_constraint k WHERE k.contype = 'n'),
    (SELECT string_agg(concat_ws(':', e.oid, e.xmin::text), ',' ORDER BY e.oid) FROM pg_enum e),
    (SELECT string_agg(concat_ws(':', l.oid, l.xmin::text), ',' ORDER BY l.oid)
        FROM pg_collation l WHERE l.oid >= 16384),
    (SELECT string_agg(concat_ws(':', n.oid, n.xmin::text), ',' ORDER BY n.oid) FROM pg_namespace n),
    (SELECT string_agg(concat_ws(':', m.roleid, m.member, m.xmin::text), ',' ORDER BY m.roleid, m.member, m.xmin::text) FROM pg_auth_members m),
    (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user),
    (SELECT concat_ws(':', p.oid, p.xmin::text) FROM pg_publication p WHERE p.pubname = $1),
    (SELECT string_agg(concat_ws(':', r.prrelid, r.xmin::text), ',' ORDER BY r.prrelid)
        FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE p.pubname = $1)))
