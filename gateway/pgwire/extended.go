package pgwire

import (
	"bytes"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/gateway/cursor"
)

// unit is what the client sent since its last Sync.
type unit struct {
	// dirty says that something was executed, or bound for it: the unit's implicit
	// transaction holds more than one read, so all of it belongs to PostgreSQL.
	dirty bool
	// replies counts the relayed messages that PostgreSQL need not have answered yet.
	replies int
	// begins says that the execution of a BEGIN in it was relayed: whether that began a block is not known before its Sync.
	begins bool
	// begin is the portal that a BEGIN was bound to last, if bindsBegin.
	begin      string
	bindsBegin bool
	// told is the number of the Parse for which PostgreSQL was told the values of the freshet.* settings last; 0: none.
	told uint64
	// held is the execution whose messages wait for the unit's Sync.
	held *execution
	// rejected says that the client was told of an error; the rest up to Sync is skipped.
	rejected bool
}

func (u *unit) reset()       { *u = unit{} }
func (u *unit) active() bool { return u.dirty || u.replies > 0 || u.rejected }

// execution is one execution of a statement that is attended to.
type execution struct {
	sql   string
	class *class
	size  int // of the messages, for dropping them

	// The extended protocol only:
	statement *prepared
	bind      pgproto3.Bind
	from      int // where in the client's buffer its messages begin
	executed  bool
	describes bool
	closes    bool
	maxRows   uint32
	within    bool // more of its unit follows
	// resume is the portal that it reads on; nil: it is a new one.
	resume *portal
	// moves is what a FETCH or MOVE of that says; nil: it is none.
	moves *cursor.Statement
}

// query is the execution whose statement's rows it reads: itself, or the DECLARE of the cursor that a FETCH is the
// first to read.
func (e *execution) query() *execution {
	if e.resume != nil && e.resume.declared != nil {
		return e.resume.declared.by
	}
	return e
}

func (e *execution) extended() bool { return e.statement != nil }

// ready appends what ends the answer to an execution: nothing where more of its unit follows.
func (e *execution) ready(b []byte, status txStatus) []byte {
	if e.within {
		return b
	}
	return encode(b, &pgproto3.ReadyForQuery{TxStatus: byte(status)})
}

// parse relays a Parse and remembers the statement.
func (s *session) parse(body []byte, size int) error {
	if !s.unit.active() {
		s.statements.settle(&s.flow)
	}
	var m pgproto3.Parse
	if err := m.Decode(body); err != nil {
		s.scan += size
		return s.streamed('P', body)
	}
	s.parses++
	s.noteQuiet()
	c := s.classifyOne(m.Query)
	if s.validity.pending && s.unit.dirty && c.attended() && s.wantsUnit(c) { // PostgreSQL reads its constants when it has the settings back
		if dealtWith, err := s.settleBefore('P', size); dealtWith || err != nil {
			return err
		}
		s.noteQuiet()
	}
	p := &prepared{name: m.Name, class: c, parse: s.parses, errors: s.flow.errorCount()}
	if p.class.attended() || p.class.namesCursor() {
		p.sql, p.oids = m.Query, m.ParameterOIDs
		if !s.validity.pending {
			p.readAs = s.reading()
		}
	}
	if p.class.mentions && s.mustTell(p) { // PostgreSQL describes SHOW as soon as it parses it
		if dealtWith, err := s.settleBefore('P', size); dealtWith || err != nil {
			return err
		}
	}
	if !p.class.plain && p.class.Kind == Relay && !s.unit.active() {
		if dealtWith, err := s.prepareFor(p, size); dealtWith || err != nil {
			return err
		}
	}
	s.statements.add(p)
	s.unit.replies++
	s.pass('P', size)
	return nil
}

// bind begins to hold an execution that may be offered, and relays any other.
func (s *session) bind(body []byte, size int) error {
	if !s.unit.active() {
		s.statements.settle(&s.flow)
	}
	rest := body
	destination, ok := cString(&rest)
	if !ok {
		s.scan += size
		return s.streamed('B', body)
	}
	name, _ := cString(&rest)
	c, p := &unknownClass, s.statements.byName[unsafeString(name)]
	if p == nil {
		s.dropPortal(unsafeString(destination))
	} else {
		c = s.relaxed(p.class)
		if dealtWith, err := s.rebinds(string(destination), size); dealtWith || err != nil {
			return err
		}
		unanswered := s.unit.dirty || c.ends && s.unit.replies > 0 // PostgreSQL may refuse the Parse of the end itself
		if unanswered && s.wantsUnit(c) || c.mentions && s.mustTell(p) {
			if dealtWith, err := s.settleBefore('B', size); dealtWith || err != nil {
				return err
			}
		}
	}
	attend := p != nil && (c.attended() || s.block.columnar || s.wantsColumnar || s.ofCursors(c)) && !s.unit.dirty
	if attend {
		e := &execution{sql: p.sql, class: c, statement: p, from: s.scan}
		if err := e.bind.Decode(bytes.Clone(body)); err == nil && fills(body, &e.bind) { // its parameters stay in what is decoded, and the buffer moves on
			s.unit.held = e
			s.scan += size
			return nil
		}
	}
	switch refuse, err := s.mustNotRelay(c); {
	case err != nil:
		return err
	case refuse:
		return s.rejectUnit(besideSnapshot("its Bind message does not fit, or the gateway does not know its statement"), size)
	}
	s.noteBound(c, string(destination))
	s.pass('B', size)
	return nil
}

// binds notes that a statement of the class was bound to a portal.
func (u *unit) binds(c *class, portal string) {
	switch {
	case c.begins:
		u.begin, u.bindsBegin = portal, true
	case u.bindsBegin && u.begin == portal:
		u.bindsBegin = false
	}
}

// executes notes that a portal's execution was relayed.
func (u *unit) executes(portal string) {
	u.begins = u.begins || u.bindsBegin && u.begin == portal
}

// fills reports whether there is nothing behind a message that was decoded from a body. PostgreSQL refuses a body that is longer.
func fills(body []byte, m pgproto3.FrontendMessage) bool {
	return len(encode(nil, m)) == headerSize+len(body)
}

// portalMessage handles Describe, Execute, Close and Flush.
func (s *session) portalMessage(kind byte, body []byte, size int) error {
	if kind == 'E' {
		if dealtWith, err := s.holdResume(body, size); dealtWith || err != nil {
			return err
		}
	}
	if kind == 'D' {
		if dealtWith, err := s.describePortal(body, size); dealtWith || err != nil {
			return err
		}
	}
	if kind == 'E' {
		s.noteExecuted()
		rest := body
		if name, ok := cString(&rest); ok {
			s.unit.executes(unsafeString(name))
		}
	}
	switch {
	case kind == 'E', kind == 'D' && len(body) > 0 && body[0] == 'P':
		s.unit.dirty = true
	case kind == 'C' && len(body) > 1:
		name := body[1:]
		if n, ok := cString(&name); ok && body[0] == 'S' {
			s.statements.forget(unsafeString(n))
		} else if ok {
			s.dropPortal(unsafeString(n))
		}
	}
	if kind != 'H' {
		s.unit.replies++
	}
	s.pass(kind, size)
	return nil
}

// takes adds a message to a held execution if it belongs there: Bind [Describe] Execute [Close] of one portal.
func (e *execution) takes(kind byte, body []byte) bool {
	switch kind {
	case 'D':
		var m pgproto3.Describe
		if e.executed || e.describes || m.Decode(body) != nil || m.ObjectType != 'P' || m.Name != e.bind.DestinationPortal {
			return false
		}
		e.describes = true
		return true
	case 'E':
		var m pgproto3.Execute
		if e.executed || m.Decode(body) != nil || !fills(body, &m) || m.Portal != e.bind.DestinationPortal {
			return false
		}
		e.executed, e.maxRows = true, m.MaxRows
		return true
	case 'C':
		var m pgproto3.Close
		if !e.executed || e.closes || m.Decode(body) != nil || m.ObjectType != 'P' || m.Name != e.bind.DestinationPortal {
			return false
		}
		e.closes = true
		return true
	}
	return false
}

// sync ends a unit, whose held execution is then attended to.
func (s *session) sync(size int) error {
	if h := s.unit.held; h != nil && h.executed {
		h.size = s.scan + size - h.from
		s.scan = h.from
		return s.attend(h)
	}
	s.unit.reset()
	s.pass('S', size)
	return nil
}

// attendWithin deals with the held execution when another message than its Sync follows. The execution is attended to
// at once in a block that reads a columnar snapshot or may begin to. Anywhere else PostgreSQL gets all of the unit.
func (s *session) attendWithin() error {
	h := s.unit.held
	if err := s.confirmBlock(); err != nil {
		return err
	}
	switch alone, err := s.mustNotRelay(h.class); {
	case err != nil:
		return err
	case alone && !h.executed && !h.opens():
		s.unit.held = nil
		return s.rejectUnit(besideSnapshot("its portal is not executed at once"), 0)
	case !alone && h.resume == nil && !(h.executed && s.wantsUnit(h.class)):
		s.release()
		return nil
	}
	h.size, h.within = s.scan-h.from, true
	s.scan = h.from
	return s.attend(h)
}

// settleBefore ends the messages that were relayed since the client's last Sync by a Sync of the session's own, so that
// the message at hand begins a new unit. That is right only where a Sync commits nothing: inside a transaction block, or
// if nothing was bound yet, as after a Parse and a Flush.
// If PostgreSQL refuses one of those messages, dealtWith is true: the message at hand and all after it, up to the
// client's Sync, are skipped. Where the flow cannot be followed nothing is settled, and a block that reads a columnar
// snapshot ends with the session. Nor is anything where the block turns out not to have begun.
func (s *session) settleBefore(kind byte, size int) (dealtWith bool, err error) {
	switch status, err := s.awaitQuiet(); {
	case err != nil:
		return false, err
	case status == txUnknown && s.block.columnar:
		return false, s.endColumnar()
	case status == txUnknown:
		return false, nil
	case s.unit.dirty && s.notBegun(status):
		s.leaveBlock()
		return false, nil
	}
	if err := s.acquire(); err != nil {
		return false, err
	}
	failed, _, err := s.settleUnit()
	if err != nil {
		return false, err
	}
	s.handBack()
	s.unit.reset()
	if s.unit.rejected = failed; failed {
		return true, s.skipRejected(kind, size)
	}
	return false, nil
}

// mustNotRelay reports whether PostgreSQL must not run a statement of the class: the open block reads a columnar
// snapshot, and PostgreSQL would read another one.
func (s *session) mustNotRelay(c *class) (bool, error) {
	if !s.beside(c) {
		return false, nil
	}
	status, err := s.awaitQuiet()
	switch {
	case err != nil:
		return false, err
	case status == txUnknown:
		return false, s.endColumnar()
	}
	return status == txOpen, nil // PostgreSQL refuses all in a block that has failed
}

// letGo gives the held execution to PostgreSQL because it is too long to hold, or because a message follows that is not
// looked at. If PostgreSQL must not run it, the session ends.
func (s *session) letGo() error {
	if h := s.unit.held; h != nil && s.beside(h.class) {
		return s.endColumnar()
	}
	s.release()
	return nil
}

// release gives a held execution to PostgreSQL.
func (s *session) release() {
	h := s.unit.held
	if h == nil {
		return
	}
	s.unit.held = nil
	s.noteBound(h.class, h.bind.DestinationPortal)
	if h.executed {
		s.unit.executes(h.bind.DestinationPortal)
	}
}

// noteBound is noteRelayed for a Bind of a statement to a portal.
func (s *session) noteBound(c *class, portal string) {
	s.noteRelayed(c)
	s.unit.binds(c, portal)
	s.unit.dirty = true
	s.block.bound = s.block.bound || !c.begins
	s.block.noteBoundSavepoint(c)
}
