"""Prints what psycopg 3 sees; run directly and through the gateway."""
import sys

import psycopg

url = sys.argv[1]
QUERY = "SELECT id, name, price, at, day, flag FROM item WHERE price > %s ORDER BY id"


def show(title, rows):
    print(title, [tuple(map(repr, r)) for r in rows])


def fails(conn, sql, *args):
    try:
        conn.execute(sql, *args).fetchall()
        print("no error:", sql)
    except psycopg.Error as e:
        print("error", e.sqlstate, e.diag.message_primary, e.diag.statement_position, conn.info.transaction_status.name)


with psycopg.connect(url, autocommit=True) as conn:
    for binary in (False, True):
        with conn.cursor(binary=binary) as cur:
            for _ in range(8):  # prepared from the sixth on
                cur.execute(QUERY, (95,))
            print([(c.name, c.type_code) for c in cur.description], cur.rowcount)
            show(f"binary {binary}", cur.fetchall())
    fails(conn, "SELECT nosuch FROM item")
    fails(conn, "SELECT 1 / (count(*) - count(*)) FROM item")
    fails(conn, "SELECT id / 0 FROM item WHERE id = %s", (1,))
    with conn.pipeline():
        a = conn.execute("SELECT count(*) FROM item")
        b = conn.execute("SELECT sum(price) FROM item")
    show("pipeline", [a.fetchone(), b.fetchone()])
    for binary in (False, True):
        with conn.cursor("held", binary=binary, scrollable=False, withhold=True) as cur:  # as Django's QuerySet.iterator()
            cur.execute(QUERY, (90,))
            print([(c.name, c.type_code) for c in cur.description])
            show(f"held, binary {binary}", cur.fetchmany(3) + cur.fetchall())
    conn.execute("CREATE TEMP TABLE copied (a int, b text)")
    with conn.cursor() as cur:
        with cur.copy("COPY copied FROM STDIN") as copy:
            for i in range(1000):
                copy.write_row((i, f"row {i}"))
        with cur.copy("COPY (SELECT * FROM copied WHERE a < %s ORDER BY a) TO STDOUT", (3,)) as copy:
            show("copy out", copy.rows())
        try:
            with cur.copy("COPY copied FROM STDIN") as copy:
                copy.write("not a number\tx\n")
        except psycopg.Error as e:
            print("copy error", e.sqlstate)
    conn.execute("LISTEN news")
    conn.execute("NOTIFY news, 'hello'")
    for n in conn.notifies(timeout=10, stop_after=1):
        print("notified", n.channel, n.payload)
    notices = []
    conn.add_notice_handler(lambda d: notices.append(d.message_primary))
    conn.execute("DO $$ BEGIN RAISE NOTICE 'a notice'; END $$")
    print(notices)

with psycopg.connect(url) as conn:  # transactions
    with conn.transaction():
        show("in a block", conn.execute("SELECT count(*) FROM item").fetchall())
        fails(conn, "SELECT nosuch")
    conn.rollback()
    conn.read_only = True
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    show("read only", conn.execute(QUERY, (99,)).fetchall())
    show("read only", conn.execute("SELECT count(*) FROM item").fetchall())
    with conn.pipeline():
        results = [conn.execute(QUERY, (95,)) for _ in range(8)] + [conn.execute("SELECT sum(price) FROM item")]
    for r in results:
        show("read only, in a pipeline", r.fetchall())
    conn.rollback()
    with conn.cursor("server_side") as cur:
        cur.itersize = 50
        print("server side cursor", sum(1 for _ in cur.execute("SELECT id FROM item ORDER BY id")))
        show("read only", conn.execute("SELECT sum(price) FROM item").fetchall())
    for binary in (False, True):
        with conn.cursor("scrolls", binary=binary, scrollable=True) as cur:
            cur.execute(QUERY, (90,))
            print([(c.name, c.type_code) for c in cur.description])
            show(f"server side, binary {binary}", cur.fetchmany(3) + [cur.fetchone()])
            cur.scroll(2)
            cur.scroll(1, mode="absolute")
            show("scrolled", cur.fetchall())
