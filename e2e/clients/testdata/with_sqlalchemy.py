"""Prints what SQLAlchemy sees; run directly and through the gateway."""
import sys

import sqlalchemy as sa

engine = sa.create_engine(sys.argv[1].replace("postgres://", "postgresql+psycopg://"))
meta = sa.MetaData()
item = sa.Table("item", meta, autoload_with=engine)
print([(c.name, str(c.type), c.nullable) for c in item.columns], [c.name for c in item.primary_key])
with engine.connect() as conn:
    q = sa.select(item.c.flag, sa.func.count(), sa.func.sum(item.c.price)).group_by(item.c.flag).order_by(item.c.flag)
    print(conn.execute(q).all())
    print(conn.execute(sa.select(item).where(item.c.price > 95).order_by(item.c.id)).all())
    try:
        conn.execute(sa.text("SELECT nosuch FROM item"))
    except sa.exc.ProgrammingError as e:
        print(e.orig.sqlstate)
    conn.rollback()
with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
    print(conn.execute(sa.select(sa.func.count()).select_from(item)).scalar_one())
with engine.begin() as conn:
    conn.execute(sa.insert(item), [{"id": -i, "name": f"new {i}", "price": i} for i in range(1, 4)])
    print(conn.execute(sa.select(sa.func.count()).select_from(item).where(item.c.id < 0)).scalar_one())
    conn.execute(sa.delete(item).where(item.c.id < 0))
