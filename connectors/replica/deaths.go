package replica

import (
	"context"
	"fmt"

	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// What died is told to the engine in two steps. The groups of row ids that have dead ones are written to the table of deaths; a mask, which is a
// dictionary that was loaded from it at one epoch and is not loaded again while a snapshot has it, is what queries look row ids up in. It costs a quarter of
// a byte for each row of the replica, and a query one look-up in an array for each row.
//
// The table is written anew for each mask. To add only the groups that changed would cost more: a mask would then be loaded from a GROUP BY, which takes
// the engine twice as long as writing and loading all groups.

// createDeaths is the table of deaths.
func createDeaths(name string) string {
	return "CREATE TABLE " + name + " (rows UInt32, alive UInt8) ENGINE = Memory"
}

// createMask is a dictionary of the deaths. It outlives a restart of the engine and its source does not: it cannot be loaded
// then, so that queries on snapshots from before fail.
func createMask(name, deaths string, cfg Config) string {
	query := "SELECT rows, alive FROM " + deaths
	return fmt.Sprintf("CREATE DICTIONARY %s (rows UInt64, alive UInt8 DEFAULT 255) PRIMARY KEY rows "+
		"SOURCE(CLICKHOUSE(QUERY %s USER %s PASSWORD %s)) "+
		"LAYOUT(FLAT(INITIAL_ARRAY_SIZE 1024 MAX_ARRAY_SIZE 4294967295)) LIFETIME(0)",
		name, engine.Literal(query), engine.Literal(cfg.User), engine.Literal(cfg.Password))
}

// alive is the condition of rows that are not dead by a mask. (bitTest looks at each number of a bit by itself, which takes
// three times as long as a shift of all rows at once; without the comparison the engine would turn numbers of four bytes into ones of
// one, which takes a nanosecond more.)
func (l *ledger) alive(mask *object) string {
	return fmt.Sprintf("bitAnd(bitShiftRight(dictGetUInt8(%s, 'alive', bitShiftRight(%s, %d)), bitAnd(%s, %d)), 1) != 0",
		engine.Literal(l.database+"."+mask.name), column.RowID, groupBits, column.RowID, 1<<groupBits-1)
}

// writeDeaths notes the rows that died and, once the epoch is whole, loads a mask with them.
func (p *publisher) writeDeaths(ctx context.Context, b *batch) error {
	for i := range b.tables {
		st := &b.tables[i].table.stored
		if b.tables[i].removed || !st.active {
			continue
		}
		for _, rid := range b.tables[i].deaths {
			p.dead.add(rid)
		}
		if len(b.tables[i].deaths) > 0 {
			p.bury(st, b.tables[i].deaths)
			st.dirty(p.s.r.clock())
		}
	}
	if b.partial || !p.dead.stale {
		return nil
	}
	if err := p.mark(ctx); err != nil {
		return fmt.Errorf("mark dead rows: %w", err)
	}
	return p.loadMask(ctx)
}

// bury notes which of a table's rows died since its base was built.
func (p *publisher) bury(st *stored, deaths []uint32) {
	st.dead = append(st.dead, deaths...)
	for _, rid := range deaths {
		if p.young.has(rid) {
			st.deadDeltas = true
		} else {
			st.deadBase = true
		}
	}
}

// age notes that the rows of deltas are in a base, or gone.
func (p *publisher) age(deltas []*delta) {
	for _, d := range deltas {
		for _, rid := range d.rids {
			p.young.remove(rid)
		}
	}
}

// mark writes the table of deaths anew, as one block. Nobody reads it but a mask that is loaded.
func (p *publisher) mark(ctx context.Context) error {
	if err := p.insist(ctx, func() error { return p.conn.Exec(ctx, "TRUNCATE TABLE "+p.deathsTable) }); err != nil {
		return err
	}
	if p.dead.mark(&p.marks); len(p.marks.group) == 0 {
		return nil
	}
	return p.insist(ctx, func() error { return p.conn.Insert(ctx, p.deathsTable, p.marks.input()) })
}

// loadMask makes a mask of the deaths that are marked the one of the snapshots to come.
func (p *publisher) loadMask(ctx context.Context) error {
	l := p.s.ledger
	mask := l.takeIdle()
	if mask == nil {
		err := p.insist(ctx, func() (err error) {
			mask, err = p.makeMask(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("create a dictionary of deaths: %w", err)
		}
	}
	if err := p.insist(ctx, func() error { return p.conn.Exec(ctx, "SYSTEM RELOAD DICTIONARY "+l.qualified(mask)) }); err != nil {
		return fmt.Errorf("load a dictionary of deaths: %w", err)
	}
	l.drop(p.mask)
	p.mask, p.dead.stale = mask, false
	return nil
}

// makeMask makes a mask that is not loaded, with one holder.
func (p *publisher) makeMask(ctx context.Context) (*object, error) {
	l := p.s.ledger
	o := l.created(p.s.names.next("died"))
	o.mask = true
	if err := p.conn.Exec(ctx, createMask(l.qualified(o), p.deathsTable, p.s.cfg)); err != nil {
		l.undropped([]*object{o}) // it may be there all the same
		return nil, err
	}
	return o, nil
}

// forget takes back the row ids that no snapshot sees any more. They leave the deaths before they may be born again, and the
// first snapshot that has them has another mask.
func (p *publisher) forget() {
	if p.spilled {
		return
	}
	if rids := p.s.ledger.takeFreed(); len(rids) > 0 {
		p.dead.remove(rids)
		p.s.rids.Free(rids)
	}
}
