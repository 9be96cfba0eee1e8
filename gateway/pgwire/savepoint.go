package pgwire

import "strconv"

// settingMark is a setting of PostgreSQL's, local to the transaction, by which the session learns which portals a rollback to a savepoint has
// ended. PostgreSQL does not know the portals that the replica answers. But it treats the setting as it treats portals: a rollback to a
// savepoint ends the portals that were bound after the savepoint, and gives the setting the value back that it had there; RELEASE leaves both
// alone. Each such portal has a mark, and the latest mark is the setting's value. So a portal that still exists has no later mark than that,
// whatever savepoints were made and ended.
const settingMark = "freshet.portals"

// nests reports whether a statement of the class may make a savepoint.
func (c *class) nests() bool { return c.word == "savepoint" || c.word == "" && c.data }

// reverts reports whether a statement of the class is a rollback to a savepoint.
func (c *class) reverts() bool { return c.word == "rollback" && !c.ends }

// noteBoundSavepoint notes that a portal was bound whose Executes may make a savepoint or roll back to one.
func (b *block) noteBoundSavepoint(c *class) {
	b.nests, b.reverts = b.nests || c.nests(), b.reverts || c.reverts()
}

// noteExecuted accounts for an Execute of a portal of PostgreSQL's, perhaps of one that was bound long ago.
func (s *session) noteExecuted() {
	s.block.unmarked = s.block.unmarked || s.block.nests
	if s.block.reverts {
		s.noteReverted()
	}
}

// noteReverted accounts for a rollback to a savepoint. It doubts the portals even if PostgreSQL's last status says that the block has failed,
// in which nothing could have ended them: the block may be open again by then.
func (s *session) noteReverted() {
	s.doubtCursors()
	s.block.unmarked = true
	s.block.doubted = len(s.block.portals) > 0
}

// mark sets a new mark if there may have been a savepoint since the last one, so that the portal which the execution may leave can be told
// from those bound before. The backend must be held.
func (s *session) mark(e *execution, status txStatus) error {
	keeps := e.extended() && !e.closes && (e.class.Kind == Read || e.moves != nil && e.maxRows > 0)
	if !keeps || status != txOpen || !s.block.unmarked {
		return nil
	}
	s.marks++
	if _, err := s.ask(s.ctx, "SELECT pg_catalog.set_config("+Quote(settingMark)+", '"+strconv.FormatUint(s.marks, 10)+"', true)"); err != nil {
		return err
	}
	s.block.mark, s.block.unmarked = s.marks, false
	return nil
}

// confirmPortals drops the portals that a rollback to a savepoint has ended, before a message behind that is dealt
// with: an error may follow, after which PostgreSQL says no more.
func (s *session) confirmPortals(kind byte, size int) (dealtWith bool, err error) {
	s.block.doubted = false
	if dealtWith, err := s.settleBefore(kind, size); dealtWith || err != nil {
		return dealtWith, err
	}
	switch status, quiet, _ := s.flow.quiet(); {
	case !quiet:
		s.dropMarked(0)
		return false, nil
	case status == txIdle:
		s.dropPortals()
		return false, nil
	case status == txFailed: // the rollback itself failed, or was skipped
		return false, nil
	}
	if err := s.acquire(); err != nil {
		return false, err
	}
	rows, err := s.ask(s.ctx, "SELECT pg_catalog.current_setting("+Quote(settingMark)+", true)")
	if isSQLError(err) { // a cancellation or a time limit, which has failed the block as well
		dealtWith, err = true, s.fail(err, kind == 'Q')
	}
	if err != nil {
		return false, err
	}
	s.handBack()
	if dealtWith {
		s.scan += size
		s.drop()
		s.unit.rejected = kind != 'Q'
		return true, nil
	}
	var mark uint64
	if len(rows) == 1 {
		mark, _ = strconv.ParseUint(string(rows[0][0]), 10, 64) // empty where the first was undone
	}
	s.dropMarked(mark)
	return false, nil
}

// dropMarked drops the portals of later marks.
func (s *session) dropMarked(last uint64) {
	for name, p := range s.block.portals {
		if p.declared == nil && p.mark > last {
			s.dropPortal(name)
		}
	}
}
