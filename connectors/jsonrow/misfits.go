package jsonrow

import "github.com/freshet-io/freshet/connectors/cdc"

// MostCopies is how many copies of a table are taken because of rows that do not fit one definition.
const MostCopies = 3

// Verdict is what becomes of a row that does not fit its table's definition.
type Verdict uint8

// The verdicts.
const (
	// Covered says that a copy has the row, or one to come that was asked for already: it may be left out.
	Covered Verdict = iota
	// CopyAnew says that the table is to be announced and copied once more.
	CopyAnew
	// Stop says that copies did not help and the table is to be stopped.
	Stop
)

// Misfits judges rows that do not fit: they precede the definition that is known, so that a copy that is later than they are has
// them. Its zero value is ready; it belongs to the goroutine that streams.
type Misfits struct{ tables map[cdc.TableID]misfit }

// misfit counts the copies of a table whose next changes did not fit.
type misfit struct {
	def    *cdc.Table
	copies int
	// copied is where the last copy was that had begun when a change did not fit.
	copied cdc.Position
}

// Fits notes that a row of a table fitted.
func (m *Misfits) Fits(id cdc.TableID) { delete(m.tables, id) }

// Judge judges a row at a position that does not fit def, of which the last copy that began is at copied (zero for none).
func (m *Misfits) Judge(def *cdc.Table, at, copied cdc.Position) Verdict {
	x := m.tables[def.ID]
	if x.def != def {
		x = misfit{def: def}
	}
	switch {
	case !copied.Before(at), x.copies > 0 && x.copied == copied:
		return Covered
	case m.tables == nil:
		m.tables = map[cdc.TableID]misfit{}
	}
	verdict := CopyAnew
	if x.copies == MostCopies {
		verdict = Stop
	}
	x.copies, x.copied = x.copies+1, copied
	m.tables[def.ID] = x
	return verdict
}
