package pgwire

// prepared is a prepared statement of the session.
type prepared struct {
	name  string
	sql   string // empty when it will never be attended to
	oids  []uint32
	class *class
	// parse is the number of its Parse among the session's, from 1.
	parse     uint64
	described *description // nil: not yet
	// errors is the count of PostgreSQL's errors when the Parse was sent. If it has not
	// changed once the flow is quiet, PostgreSQL holds this statement.
	errors uint64
	// readAs is how PostgreSQL reads its constants; the zero value: not known.
	readAs reading
}

// reading is the settings by which PostgreSQL reads the constants of a statement when it parses it.
type reading struct{ timeZone, dateStyle, intervalStyle string }

// reading returns them as PostgreSQL reported them last.
func (s *session) reading() reading {
	return reading{s.parameter("TimeZone"), s.parameter("DateStyle"), s.parameter("IntervalStyle")}
}

// Bounds of what a session keeps of its prepared statements: of their text in bytes, and of their number between two
// moments at which PostgreSQL has answered everything. A session beyond them is only relayed.
const (
	maxStatementBytes = 16 << 20
	maxUnconfirmed    = 10_000
)

// statements follows which prepared statements PostgreSQL holds.
//
// Invariant: a statement that is in byName and not in unconfirmed is the one that
// PostgreSQL holds by that name, or PostgreSQL holds none by it.
type statements struct {
	byName      map[string]*prepared
	unconfirmed []*prepared
	bytes       int
	// unnamed says that PostgreSQL may hold one without a name, which a simple query drops. It may also where byName
	// has none: an error behind its Parse hides that PostgreSQL took it, and DEALLOCATE ALL leaves it.
	unnamed bool
}

func (t *statements) init() { t.byName = map[string]*prepared{} }

func (t *statements) clear() {
	clear(t.byName)
	t.unconfirmed, t.bytes = nil, 0
}

// settle confirms the statements that PostgreSQL has accepted, and forgets those that it may not have.
func (t *statements) settle(f *flow) {
	if len(t.unconfirmed) == 0 {
		return
	}
	if _, quiet, _ := f.quiet(); !quiet {
		return
	}
	now := f.errorCount()
	for _, p := range t.unconfirmed {
		if p.errors != now && t.byName[p.name] == p {
			t.forget(p.name)
		}
	}
	t.unconfirmed = t.unconfirmed[:0]
}

// forget forgets the statement of a name, if there is one.
func (t *statements) forget(name string) {
	if p := t.byName[name]; p != nil {
		t.bytes -= len(p.sql)
		delete(t.byName, name)
	}
}

func (t *statements) add(p *prepared) {
	t.forget(p.name)
	t.unnamed = t.unnamed || p.name == ""
	if t.bytes += len(p.sql); t.bytes > maxStatementBytes || len(t.unconfirmed) >= maxUnconfirmed {
		t.clear()
		return
	}
	t.byName[p.name] = p
	t.unconfirmed = append(t.unconfirmed, p)
}
