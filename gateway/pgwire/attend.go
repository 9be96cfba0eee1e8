package pgwire

import (
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// attend handles an execution that is not simply relayed, once PostgreSQL has answered all before it.
func (s *session) attend(e *execution) error {
	status, err := s.awaitQuiet()
	switch {
	case err != nil:
		return err
	case status == txOpen && e.resume != nil:
		return s.readOn(e)
	case status == txFailed && e.resume != nil:
		return s.reject(e, errFailedBlock)
	case status == txFailed, status == txUnknown:
		return s.relay(e, "")
	case status == txIdle:
		s.leaveBlock()
	}
	c := e.class
	if status == txOpen && s.ofCursors(c) {
		if dealtWith, err := s.attendCursor(e, status); dealtWith || err != nil {
			return err
		}
	}
	switch {
	case c.Kind == Read, c.Kind == Explain, c.Kind == Declare && (status == txOpen || c.Holds):
		return s.offer(e, status)
	case c.setting != "":
		if err := s.checkSetting(c); err != nil {
			return s.reject(e, err)
		}
	}
	if err := s.refusal(c); err != nil {
		return s.reject(e, err)
	}
	if c.mentions {
		if err := s.tell(e.sql, e.extended()); err != nil {
			return err
		}
	}
	return s.relay(e, "")
}

// awaitQuiet forwards what is due and waits until PostgreSQL has answered it. It returns txUnknown when the state of
// the conversation cannot be known.
func (s *session) awaitQuiet() (txStatus, error) {
	if err := s.forward(); err != nil {
		return txUnknown, err
	}
	for {
		status, quiet, wait := s.flow.quiet()
		if quiet {
			return status, nil
		}
		if wait == nil {
			return txUnknown, nil
		}
		select {
		case <-wait:
		case <-s.serverDone:
			return txUnknown, io.EOF
		}
	}
}

// relay gives an attended execution to PostgreSQL. A reason says why one that was offered is.
func (s *session) relay(e *execution, reason string) error {
	if reason != "" {
		s.record(LastRun{Route: RouteOLTP.String(), Reason: reason})
	}
	if e.within {
		s.scan += e.size
		s.release()
		return nil
	}
	s.noteRelayed(e.class)
	s.scan += e.size
	if e.extended() {
		s.block.bound = s.block.bound || !e.class.begins
		s.unit.reset()
		s.flow.sent('S')
		return nil
	}
	s.flow.sent('Q')
	return nil
}

// answered takes an execution that the client has its answer to out of the stream. What follows one that failed, up to
// Sync, is skipped.
func (s *session) answered(e *execution) {
	s.scan += e.size
	s.drop()
	s.unit.reset()
	if e.within {
		status, _, _ := s.flow.quiet()
		s.unit.rejected = status == txFailed // an error fails the block
	}
}

// checkSetting checks SET freshet.… before PostgreSQL, which would accept any value, gets it.
func (s *session) checkSetting(c *class) error {
	var trial Settings
	if err := trial.set(c.setting, c.value); err != nil {
		return err
	}
	if c.setting == settingRoute && trial.Route == RouteColumnar {
		s.wantsColumnar = true
	}
	return nil
}

// refusal returns the error that a statement meets which PostgreSQL must run but may not: beside a
// block's columnar snapshot, or under freshet.route = columnar.
func (s *session) refusal(c *class) error {
	if s.beside(c) {
		return besideSnapshot(c.why())
	}
	if s.wantsColumnar && !s.validity.stale && s.info.Settings.Route == RouteColumnar && isQuery(c.word) && c.data && !c.Writes && c.Kind == Relay {
		return routeInsists(c.why())
	}
	return nil
}

// routeInsists refuses what cannot run on the columnar replica under freshet.route = columnar.
func routeInsists(why string) *Error {
	return &Error{Code: codeFeatureUnsupported, Message: "freshet.route is columnar, but this statement cannot run there: " + why,
		Hint: "Set freshet.route = 'auto' to let PostgreSQL run what the columnar replica cannot."}
}

// beside reports whether PostgreSQL would read another snapshot for the statement than the columnar one that the block
// reads.
func (s *session) beside(c *class) bool { return s.block.columnar && !c.mixes() }

// besideSnapshot refuses what cannot run on the columnar snapshot that the block began to read.
func besideSnapshot(why string) *Error {
	return &Error{Code: codeFeatureUnsupported, Message: "cannot run this statement on the block's columnar snapshot: " + why,
		Hint: "Set freshet.route = 'oltp' before the transaction block to read all of it from PostgreSQL."}
}

func (c *class) why() string {
	if c.Reason != "" {
		return c.Reason
	}
	return "it is not a read"
}

// mixes reports whether PostgreSQL may run the statement in a block that reads a columnar snapshot: it reads no
// table, ends the block first, or is a write, which PostgreSQL refuses itself.
func (c *class) mixes() bool {
	switch c.word {
	case "insert", "update", "delete", "merge", "truncate":
		return true
	}
	return c.leaves || c != &unknownClass && !c.data && (!c.Writes || c.ends)
}

// prepareFor attends to a Parse of SET freshet.… and of what mentions the settings.
func (s *session) prepareFor(p *prepared, size int) (dealtWith bool, err error) {
	status, err := s.awaitQuiet()
	if err != nil || status == txUnknown || status == txFailed {
		return false, err
	}
	if p.class.setting != "" {
		if err := s.checkSetting(p.class); err != nil {
			return true, s.rejectUnit(err, size)
		}
	}
	if p.class.mentions {
		s.unit.told = p.parse
		return false, s.tell(p.sql, true)
	}
	return false, nil
}

// rejectUnit answers a message of the extended protocol by an error; what follows up to Sync is skipped.
func (s *session) rejectUnit(reason error, size int) error {
	if err := s.acquire(); err != nil {
		return err
	}
	failed, _, err := s.settleUnit()
	if err != nil {
		return err
	}
	if !failed { // else PostgreSQL's own error came first
		if err := s.fail(reason, false); err != nil {
			return err
		}
	}
	s.handBack()
	s.scan += size
	s.drop()
	s.unit.rejected = true
	return nil
}

// skipRejected skips the rest of a rejected unit and answers its Sync.
func (s *session) skipRejected(kind byte, size int) error {
	s.scan += size
	s.drop()
	if kind != 'S' {
		return nil
	}
	s.unit.reset()
	status, _, _ := s.flow.quiet()
	_, err := s.client.Write(encode(nil, &pgproto3.ReadyForQuery{TxStatus: byte(status)}))
	return err
}

// reject answers an execution by an error, which fails an open transaction block.
func (s *session) reject(e *execution, reason error) error {
	if err := s.acquire(); err != nil {
		return err
	}
	if err := s.rejectHeld(e, reason); err != nil {
		return err
	}
	s.handBack()
	s.answered(e)
	return nil
}

// rejectHeld is reject while the backend is held.
func (s *session) rejectHeld(e *execution, reason error) error {
	failed, status, err := s.settleUnit()
	if err != nil {
		return err
	}
	if failed { // PostgreSQL's own error came first
		_, err = s.client.Write(e.ready(nil, status))
	} else {
		err = s.fail(reason, !e.within)
	}
	return err
}

// settleUnit makes PostgreSQL answer the messages of the unit that were relayed, and hands the
// answers on. failed says that one of them was an error.
func (s *session) settleUnit() (failed bool, status txStatus, err error) {
	status, _, _ = s.flow.quiet()
	if s.unit.replies == 0 && !s.unit.dirty {
		return false, status, nil
	}
	failed = s.flow.failing() // serverLoop may have relayed the unit's error already
	if err := s.send(encode(nil, &pgproto3.Sync{})); err != nil {
		return false, txUnknown, err
	}
	s.unit.replies = 0
	status, err = s.untilReady(s.toClient(&failed))
	return failed, status, err
}

// fail tells the client of an error, puts an open block into the failed state, and tells of ReadyForQuery if that is
// due: settings that the block had are reported anew between the two, as by PostgreSQL.
func (s *session) fail(reason error, ready bool) error {
	status, _, _ := s.flow.quiet()
	b := encode(nil, errorResponse("ERROR", reason))
	if status == txOpen {
		if err := s.tellClient(b); err != nil {
			return err
		}
		var err error
		if status, err = s.failTransaction(); err != nil {
			return err
		}
		b = nil
	}
	if ready {
		b = encode(b, &pgproto3.ReadyForQuery{TxStatus: byte(status)})
	}
	return s.tellClient(b)
}

func (s *session) tellClient(b []byte) error {
	if _, err := s.client.Write(b); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// mustTell reports whether the unit's earlier messages must be answered before PostgreSQL can be told the values that a
// statement shows: it can only between two units.
func (s *session) mustTell(p *prepared) bool {
	return s.unit.active() && s.unit.told != p.parse && (!s.unit.dirty || s.wantsUnit(p.class))
}

// tell makes PostgreSQL know the values of the freshet.* settings, for a statement that mentions them.
func (s *session) tell(sql string, extended bool) error {
	if extended && s.unit.replies > 0 { // its Parse was told already
		return nil
	}
	if err := s.acquire(); err != nil {
		return err
	}
	tell := s.tellOutside
	if status, _, _ := s.flow.quiet(); status == txOpen {
		tell = s.tellWithin
	}
	if err := tell(sql); err != nil && !isSQLError(err) { // one leaves the statement to PostgreSQL's own words
		return err
	}
	s.handBack()
	return nil
}

func (s *session) record(r LastRun) {
	s.last = r
	s.srv.cfg.Metrics.statements.WithLabelValues(r.Route).Inc()
}
