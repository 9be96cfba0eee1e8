package pgwire

import "strconv"

// settingMark is where PostgreSQL keeps the mark of the portals that the replica answers, which it knows nothing of: a
// setting that is local to the transaction. Rollback to a savepoint, which ends the portals that were bound behind it,
// gives it the value back that it had at the savepoint, and RELEASE, which leaves them, leaves it. So those that there
// are yet have no later mark than its value, whatever made and ended the savepoints.
const settingMark = "freshet.portals"

// nests reports whether a statement of the class may make a savepoint.
func (c *class) nests() bool { return c.word == "savepoint" || c.word == "" && c.data }

// reverts reports whether a statement of the class is a rollback to a savepoint.
func (c *class) reverts() bool { return c.word == "rollback" && !c.ends }

// noteBoundSavepoint notes what the Executes to come may do.
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

// noteReverted accounts for a rollback to a savepoint. Portals are in doubt also where it cannot have ended them: the
// block may be open again, of which PostgreSQL's last status says that it has failed.
func (s *session) noteReverted() {
	s.doubtCursors()
	s.block.unmarked = true
	s.block.doubted = len(s.block.portals) > 0
}

// mark tells the portal that an execution may leave from those of before the last savepoint. The backend must be held.
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
