package pgwire

// block is what is known of the open transaction block. PostgreSQL's status says whether there is one (T, or E once it
// has failed). open is narrower: the session saw the BEGIN as a statement of its own, and not among several in one
// message.
//
// While the status is T these may read tables, as far as freshet.route lets them. A dash means that the field does not
// matter:
//
//	mayBeReadOnly  known  readOnly  wrote  isolation        oltp  columnar   who reads
//	no             -      -         -      -                -     no         PostgreSQL
//	yes            no     -         -      -                -     no         either: at the next offer PostgreSQL tells known, readOnly and the isolation
//	yes            yes    no        -      -                -     no         PostgreSQL
//	yes            yes    yes       yes    -                -     no         PostgreSQL
//	yes            yes    yes       no     read committed   -     no         either, statement by statement; oltp makes the replica take a newer snapshot
//	yes            yes    yes       no     repeatable read  no    no         either: whichever reads first reads all of the block
//	yes            yes    yes       no     repeatable read  yes   no         PostgreSQL
//	yes            yes    yes       no     serializable     -     no         PostgreSQL
//	yes            -      -         -      repeatable read  -     yes        the replica; what it cannot run is refused
//
// Beside a columnar snapshot PostgreSQL runs what reads no table, what ends the block, and writes, which it refuses
// (class.mixes). Such a write sets oltp: oltp and columnar are both set after it, once the client has gone back to a
// savepoint. A statement that may change settings makes known false again, also beside a columnar snapshot. Outside of
// a block takeInfo sets known and readOnly as well; the next BEGIN forgets them.
type block struct {
	open          bool // by a BEGIN that was relayed
	wrote         bool // its transaction may have written, also where it is READ ONLY by now
	mayBeReadOnly bool // worth asking PostgreSQL
	known         bool // readOnly and info.Isolation are
	readOnly      bool
	bound         bool // PostgreSQL may have portals
	oltp          bool // a statement that reads tables ran on PostgreSQL
	// columnar says that the block has read from the replica, and that its isolation level
	// forbids it to read from any other snapshot.
	columnar bool
	// portals are results from the replica that the client may read on, by name.
	portals map[string]*portal
	// mark is the last mark that a portal was given (see [settingMark]), unmarked says that there may have been a savepoint since then, and
	// doubted that a rollback to a savepoint may have ended portals.
	mark              uint64
	unmarked, doubted bool
	nests, reverts    bool // PostgreSQL may have portals that make savepoints, or roll back to one
}

// mayRead reports whether the open block may yet begin to read from a columnar snapshot by a statement of the class.
func (s *session) mayRead(c *class) bool {
	b := &s.block
	return (c.Kind == Read || c.Kind == Declare || s.ofCursors(c)) && b.open && b.mayBeReadOnly && !b.oltp && !b.wrote
}

// wantsUnit reports whether PostgreSQL must answer the earlier messages of the unit before an execution of the class is
// dealt with, because the gateway, and not PostgreSQL alone, has to do with it: to answer it, to refuse it, to have
// the settings ready that it shows, or to keep the block's columnar snapshot and portals where PostgreSQL skips the end of the
// block behind an error. That is possible only in a block, where a Sync commits nothing.
func (s *session) wantsUnit(c *class) bool {
	return s.beside(c) || s.mayRead(c) || (s.block.columnar || len(s.block.portals) > 0) && c.ends ||
		s.block.open && (c.Kind == Explain || c.mentions || c.setting != "" || s.wantsColumnar && isQuery(c.word))
}

// confirmBlock leaves the block that the session saw begin if PostgreSQL has none open.
func (s *session) confirmBlock() error {
	if !s.block.open {
		return nil
	}
	status, err := s.awaitQuiet()
	if err == nil && s.notBegun(status) {
		s.leaveBlock()
	}
	return err
}

// notBegun reports whether the BEGIN of the open block had no effect, by the status after all units before the one at
// hand: PostgreSQL refused it, or skipped it behind an error. A unit's own BEGIN has had no answer yet.
func (s *session) notBegun(status txStatus) bool {
	return s.block.open && status == txIdle && !s.unit.begins
}

// noteRelayed keeps account of what a statement may change when PostgreSQL runs it.
func (s *session) noteRelayed(c *class) {
	s.validity.await(c)
	switch {
	case c.Writes:
		s.info.WroteSince = true
		s.block.wrote = s.block.wrote || !s.block.known || !s.block.readOnly
	case isQuery(c.word):
		s.info.ReadSince = true
	}
	switch {
	case c.forgets:
		s.statements.clear()
	case c.replaces != "":
		s.statements.forget(c.replaces)
	}
	if c.defines {
		s.defines.Store(true)
	}
	if c.SetsSession {
		s.expire()
		s.own.disown(c)
		s.validity.inBlock, s.block.mayBeReadOnly, s.block.known = true, true, false
	}
	if c.begins && s.block.open { // PostgreSQL warns and takes its modes for the block that there is
		s.block.mayBeReadOnly, s.block.known = s.block.mayBeReadOnly || c.readOnly, false
		return
	}
	if c.begins || c.ends {
		before := s.block
		s.endTx()
		s.leaveBlock()
		if s.validity.inBlock { // a rollback, or the end of SET LOCAL
			s.expire()
			if c.ends {
				clear(s.own.told[:])
			}
			s.validity.inBlock = !c.begins && c.SetsSession
		}
		within := c.begins && s.unit.dirty // the unit's implicit transaction, which becomes the block
		s.block = block{open: c.begins, wrote: c.Writes || within && before.wrote, oltp: within && before.oltp,
			mayBeReadOnly: c.readOnly || c.begins && s.parameter("default_transaction_read_only") == "on"}
		if c.begins || c.word == "" { // it may be the block that there was
			s.block.unmarked, s.block.nests, s.block.reverts = before.unmarked, before.nests, before.reverts
		}
	}
	if c.reverts() {
		s.noteReverted()
	}
	s.block.unmarked = s.block.unmarked || c.nests()
	if c.data || c.Writes { // a function may move a cursor by its name
		s.leaveCursors()
	}
	if c.data {
		s.block.oltp = true
	}
	if (c.data || c.Writes) && c.Reason != "" && c.Kind == Relay && isQuery(c.word) {
		s.last = LastRun{Route: RouteOLTP.String(), Reason: c.Reason}
	}
}

// leaveBlock forgets what info says of a block's own isolation.
func (s *session) leaveBlock() {
	s.validity.stale = s.validity.stale || s.block.open && s.block.known
	s.dropPortals()
	s.block = block{}
}
