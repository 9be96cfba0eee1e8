package jsonrow

import (
	"sync"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// MostCopies is how many copies of a table are taken because of rows that do not fit one definition.
const MostCopies = 3

// Verdict is what becomes of a row that does not fit its table's definition.
type Verdict uint8

// The verdicts.
const (
	// Covered says that a copy has the row: it may be left out.
	Covered Verdict = iota
	// Awaited says that a copy was asked for already, and is to come: what is told leaves out the row, unless that copy has it.
	Awaited
	// CopyAnew says that the table is to be announced and copied once more, and what is told until then leaves out the row.
	CopyAnew
	// Stop says that copies did not help and the table is to be stopped.
	Stop
)

// Misfits judges rows that do not fit: they precede the definition that is known, so that a copy that is later than they are has
// them. Its zero value is ready. It is safe for concurrent use: copies begin while a stream goes on.
type Misfits struct {
	mu     sync.Mutex
	tables map[cdc.TableID]misfit
	// copied is where the last copy of a table began.
	copied map[cdc.TableID]cdc.Position
	// left is the last row of a table that was left out for a copy to come.
	left map[cdc.TableID]cdc.Position
}

// misfit counts the copies of a table whose next changes did not fit.
type misfit struct {
	def    *cdc.Table
	copies int
	// copied is where the last copy was that had begun when a change did not fit.
	copied cdc.Position
}

// Resume is for a stream that begins. Copies that were taken before are known on.
func (m *Misfits) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tables, m.left = nil, nil
}

// Forget is for a stream that begins, whose consumer may have lost the copies that were taken before.
func (m *Misfits) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tables, m.left, m.copied = nil, nil, nil
}

// Fits notes that a row of a table fitted.
func (m *Misfits) Fits(id cdc.TableID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tables, id)
}

// Begun notes that a copy of a table begins at a position. It reports whether a row was left out for it that is later: its position was chosen before
// anybody was told. Then the table is to be announced and copied once more.
func (m *Misfits) Begun(id cdc.TableID, at cdc.Position) (early bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.copied == nil {
		m.copied = map[cdc.TableID]cdc.Position{}
	}
	m.copied[id] = at
	early = at.Before(m.left[id])
	if x, ok := m.tables[id]; ok && early {
		x.copies, x.copied = x.copies+1, at
		m.tables[id] = x
	}
	return early
}

// Judge judges a row at a position that does not fit def.
func (m *Misfits) Judge(def *cdc.Table, at cdc.Position) Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, copied := m.tables[def.ID], m.copied[def.ID]
	if x.def != def {
		x = misfit{def: def}
	}
	if !copied.Before(at) {
		return Covered
	}
	if m.left == nil {
		m.tables, m.left = map[cdc.TableID]misfit{}, map[cdc.TableID]cdc.Position{}
	}
	m.left[def.ID] = at
	if x.copies > 0 && x.copied == copied && x.copies <= MostCopies {
		return Awaited
	}
	verdict := CopyAnew
	if x.copies >= MostCopies {
		verdict = Stop
	}
	x.copies, x.copied = x.copies+1, copied
	m.tables[def.ID] = x
	return verdict
}
