package pgwire

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/connectors/tempfile"
	"github.com/freshet-io/freshet/gateway/cursor"
	"github.com/freshet-io/freshet/gateway/datarow"
)

// Bounds of what the portals of a session keep of their results: in memory, and on disk, in bytes.
const (
	maxPortalMemory = 1 << 20
	maxPortalDisk   = 4 << 30
)

// portal is a result from the replica that a client reads in pieces: what an execution with a row limit left of it, or
// all of a cursor's. All of the query has run by then, so no slow client keeps a place in the engine.
type portal struct {
	class     *class
	statement *prepared
	command   string    // of the tag that ends a piece
	declared  *declared // nil: it is none of SQL's cursors
	meaning   meaning   // of the session's settings when its rows were written, or those of its cursor were declared
	expiries  uint64    // the session's, when it last had those
	mark      uint64    // the block's, see [settingMark]
	// fields and formats are its rows'; nil: those of its cursor were not read yet.
	fields  []pgproto3.FieldDescription
	formats []int16

	memory []byte
	file   *os.File // what does not fit into memory, behind it; nil: nothing
	size   int64    // of file
	rows   int64    // that are kept
	// sent is how many rows came before those that are kept, and at is where the portal stands among all.
	sent int64
	at   cursor.Position
	// room and disk are what it may keep in memory and on disk.
	room int
	disk int64

	reader *bufio.Reader // at the row after the given one
	read   int64
	marks  []int64 // where each markEvery-th row begins, as far as it was read
	offset int64   // of the reader
}

// markEvery is how many rows are read at most to go back to one.
const markEvery = 256

// newPortal returns a portal that may keep what the others leave.
func (s *session) newPortal(e *execution, command string, fields []pgproto3.FieldDescription, formats []int16) *portal {
	p := &portal{class: e.class, statement: e.statement, command: command, meaning: s.info.meaning(), expiries: s.expiries, mark: s.block.mark,
		fields: fields, formats: formats}
	s.emptyPortal(p)
	return p
}

// emptyPortal empties a portal, which may keep what the others leave.
func (s *session) emptyPortal(p *portal) {
	p.close()
	p.memory, p.file, p.size, p.rows = nil, nil, 0, 0
	p.reader, p.marks = nil, nil
	p.room, p.disk = maxPortalMemory, maxPortalDisk
	for _, o := range s.block.portals {
		p.room -= len(o.memory)
		p.disk -= o.size
	}
}

// keep adds rows behind those that are kept.
func (p *portal) keep(rows datarow.Rows) error {
	m := rows.Messages()
	p.rows += int64(rows.Len())
	if p.file == nil && len(p.memory)+len(m) <= p.room {
		p.memory = append(p.memory, m...)
		return nil
	}
	if p.size+int64(len(m)) > p.disk {
		return &Error{Code: codeProgramLimitExceeded, Message: "the result is too large to be kept for a client that reads it in pieces",
			Hint: "Read it without a row limit, or set freshet.route = 'oltp'."}
	}
	if p.file == nil {
		file, err := tempfile.Create("", "freshet-portal-")
		if err != nil {
			return cannotKeep(err)
		}
		p.file = file
	}
	n, err := p.file.WriteAt(m, p.size)
	p.size += int64(n)
	if err != nil {
		return cannotKeep(err)
	}
	return nil
}

func cannotKeep(err error) error {
	return &Error{Code: codeDiskFull, Message: "cannot keep a result for a client that reads it in pieces", Detail: err.Error(), Err: err,
		Hint: "Make room in the gateway's folder for temporary files, read it without a row limit, or set freshet.route = 'oltp'."}
}

// next returns the next row's message, in buf if that is large enough, or io.EOF.
func (p *portal) next(buf []byte) ([]byte, error) {
	if p.reader == nil {
		p.seek(0)
	}
	head, err := p.reader.Peek(headerSize)
	if err != nil {
		return nil, err
	}
	size := 1 + int(binary.BigEndian.Uint32(head[1:]))
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	if _, err = io.ReadFull(p.reader, buf[:size]); err != nil {
		return nil, err
	}
	if p.read%markEvery == 0 && p.read/markEvery == int64(len(p.marks)) {
		p.marks = append(p.marks, p.offset)
	}
	p.read++
	p.offset += int64(size)
	return buf[:size], nil
}

// total is how many rows there are, with those that were sent before.
func (p *portal) total() int64 { return p.sent + p.rows }

// goTo makes next return the given row of those that are kept, from 1, if there are as many.
func (p *portal) goTo(row int64) error {
	if n := min((row-1)/markEvery, int64(len(p.marks))-1); p.reader == nil || p.read >= row || n > p.read/markEvery {
		p.seek(max(n, 0))
	}
	var buf []byte
	for p.read < row-1 {
		var err error
		if buf, err = p.next(buf); err != nil {
			return err
		}
	}
	return nil
}

// seek makes next return the row of a mark; the first is there before any.
func (p *portal) seek(mark int64) {
	p.read, p.offset = mark*markEvery, 0
	if mark > 0 {
		p.offset = p.marks[mark]
	}
	p.reader = bufio.NewReaderSize(io.NewSectionReader(p, p.offset, int64(len(p.memory))+p.size-p.offset), flushSize)
}

// ReadAt reads what is kept.
func (p *portal) ReadAt(b []byte, offset int64) (n int, err error) {
	inMemory := int64(len(p.memory))
	if offset < inMemory {
		n = copy(b, p.memory[offset:])
	}
	if n == len(b) {
		return n, nil
	}
	if p.file == nil {
		return n, io.EOF
	}
	rest, err := p.file.ReadAt(b[n:], offset+int64(n)-inMemory)
	return n + rest, err
}

// close gives up what is kept. A nil portal keeps nothing.
func (p *portal) close() {
	if p != nil && p.file != nil {
		p.file.Close()
	}
}

// opens reports whether it binds a portal for a query whose rows are asked for later, if at all.
func (e *execution) opens() bool {
	return e.extended() && !e.executed && e.resume == nil && e.class.Kind == Read
}

// keepPortal keeps a result for executions to come; nil: there may be none.
func (s *session) keepPortal(name string, p *portal) {
	if p == nil {
		return
	}
	if s.block.portals == nil {
		s.block.portals = map[string]*portal{}
	}
	s.block.portals[name] = p
}

var errFailedBlock = &Error{Code: codeFailedTransaction, Message: "current transaction is aborted, commands ignored until end of transaction block"}

// dropPortal forgets a result that is read in pieces: its portal is bound anew, or closed.
func (s *session) dropPortal(name string) {
	if p := s.block.portals[name]; p != nil {
		p.close()
		delete(s.block.portals, name)
	}
}

// dropPortals is dropPortal for all of them.
func (s *session) dropPortals() {
	for name := range s.block.portals {
		s.dropPortal(name)
	}
}

// rebinds drops the portal that a Bind replaces. As by PostgreSQL, a named one is not replaced: the Bind is rejected,
// or left to PostgreSQL to be so.
func (s *session) rebinds(name string, size int) (dealtWith bool, err error) {
	if name == "" || s.block.portals[name] == nil {
		s.dropPortal(name)
		return false, nil
	}
	switch status, err := s.awaitQuiet(); {
	case err != nil:
		return false, err
	case status == txOpen:
		return true, s.rejectUnit(duplicateCursor(name), size)
	case status == txUnknown, status == txIdle:
		s.dropPortal(name)
	}
	return false, nil
}

// describePortal answers a Describe of a portal that has a result from the replica; dealtWith is false for any other
// message.
func (s *session) describePortal(body []byte, size int) (dealtWith bool, err error) {
	var m pgproto3.Describe
	if len(s.block.portals) == 0 || m.Decode(body) != nil || m.ObjectType != 'P' {
		return false, nil
	}
	p := s.block.portals[m.Name]
	if p == nil || p.declared != nil { // PostgreSQL knows its cursors
		return false, nil
	}
	switch status, err := s.awaitQuiet(); {
	case err != nil, status == txUnknown:
		return false, err
	case status == txFailed:
		return true, s.rejectUnit(errFailedBlock, size)
	}
	if dealtWith, err := s.settleBefore('D', size); dealtWith || err != nil {
		return true, err
	}
	s.scan += size
	s.drop()
	return true, s.tellClient(encode(nil, rowDescription(p.fields, p.formats)))
}

// holdResume holds an Execute of a portal that has a result from the replica; held says that it is one.
func (s *session) holdResume(body []byte, size int) (dealtWith bool, err error) {
	var m pgproto3.Execute
	if len(s.block.portals) == 0 || m.Decode(body) != nil || !fills(body, &m) {
		return false, nil
	}
	p := s.block.portals[m.Portal]
	if p == nil {
		return false, nil
	}
	if p.declared != nil {
		return s.executesCursor(m.Portal, size)
	}
	if s.unit.dirty {
		if dealtWith, err := s.settleBefore('E', size); dealtWith || err != nil {
			return dealtWith, err
		}
	}
	e := &execution{resume: p, class: p.class, statement: p.statement, from: s.scan, executed: true, maxRows: m.MaxRows}
	e.bind.DestinationPortal = m.Portal
	s.unit.held = e
	s.scan += size
	return true, nil
}

// readOn answers an execution from what its portal keeps.
func (s *session) readOn(e *execution) error {
	if err := s.acquire(); err != nil {
		return err
	}
	failed, status, err := s.settleUnit()
	if err != nil {
		return err
	}
	var failure error
	if e.moves != nil && !failed {
		if failure = s.closeReplaced(e, status); failure == nil {
			failure = s.mark(e, status)
		}
		if failure != nil && !isSQLError(failure) {
			return failure
		}
	}
	if failed { // PostgreSQL's own error came first
		_, err = s.client.Write(e.ready(nil, status))
	} else {
		r := &run{s: s, e: e, status: status}
		if failure == nil {
			failure = r.readOn(e.resume)
		}
		err = r.finish(failure)
	}
	if err == nil {
		err = s.wasBusy(status)
	}
	if err != nil {
		return err
	}
	if e.closes {
		s.dropPortal(e.bind.DestinationPortal)
	}
	s.handBack()
	s.answered(e)
	return nil
}

// readOn answers from what a portal keeps.
func (r *run) readOn(p *portal) error {
	if m := r.e.moves; m != nil && m.Action == cursor.Close {
		r.s.dropPortal(m.Name)
		r.acknowledge("CLOSE CURSOR")
		return nil
	}
	switch same, err := r.s.means(p); {
	case err != nil:
		return err
	case !same:
		return besideSnapshot("settings were changed since its first rows were written")
	case r.e.moves != nil:
		return r.fetch(p)
	}
	return r.piece(p)
}

// asked is what an Execute asks its portal for.
func (e *execution) asked() cursor.Statement {
	if e.maxRows == 0 {
		return cursor.Statement{Count: cursor.All}
	}
	return cursor.Statement{Count: int64(e.maxRows)}
}

// piece sends as many rows of a portal as the execution asks for.
func (r *run) piece(p *portal) error {
	span, at, err := p.at.Go(r.e.asked(), p.total(), false)
	if err == nil {
		err = p.yield(span, r.add)
	}
	if err != nil {
		return err
	}
	p.at = at
	r.tail(tag(p.command, r.rows))
	return nil
}
