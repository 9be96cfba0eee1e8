package pgwire

import "time"

// validity is how far the session may rely on what it knows of its settings. Only PostgreSQL knows them: a statement that it runs may change
// them by its text, or by a trigger, a default or a rule that no text shows, and the end of a block takes back what was set for it.
type validity struct {
	asked time.Time // when PostgreSQL was asked for them
	stale bool      // they are to be asked for before they are used
	// wrote says that a write since the last offer may have changed them.
	wrote bool
	// inBlock says that a statement of the open block may have changed them.
	inBlock bool
	// pending says that a statement which PostgreSQL had not answered at the last Parse or Query may change them.
	pending bool
}

// refreshed notes what PostgreSQL answered when it was asked at a time.
func (v *validity) refreshed(asked time.Time) { v.stale, v.asked = false, asked }

// await notes a statement that PostgreSQL is to run, and has not answered yet.
func (v *validity) await(c *class) {
	v.pending = v.pending || c.SetsSession || c.Writes || c.ends && v.inBlock
	v.wrote = v.wrote || c.Writes
}

// noteQuiet notes that PostgreSQL has answered everything, if it has, before another message is relayed. Many drivers
// send a Parse behind a SAVEPOINT whose answer they do not wait for.
func (s *session) noteQuiet() {
	if _, quiet, _ := s.flow.quiet(); quiet && !s.unit.dirty {
		s.validity.pending = false
	}
}

// doubt makes the session ask for its settings if it wrote since it was last called, and reports whether it did. What was set for the block
// alone ends with that.
func (v *validity) doubt(inBlock bool) bool {
	if !v.wrote {
		return false
	}
	v.wrote, v.stale = false, true
	v.inBlock = v.inBlock || inBlock
	return true
}
