package pgwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// internalName is the statement and portal that the session uses for itself.
const internalName = "_freshet"

// acquire takes the backend from serverLoop. The flow must be quiet.
func (s *session) acquire() error {
	s.mu.Lock()
	s.yield.Store(true) // with the deadline: serverLoop clears it as soon as it has seen that it is to yield
	err := s.server.SetReadDeadline(time.Unix(1, 0))
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("take the backend: %w", err)
	}
	select {
	case <-s.yielded:
		return nil
	case <-s.serverDone:
		return fmt.Errorf("take the backend: %w", io.ErrUnexpectedEOF)
	}
}

// handBack returns the backend to serverLoop.
func (s *session) handBack() {
	s.yield.Store(false)
	s.resume <- struct{}{}
}

// send writes messages of the session's own to PostgreSQL.
func (s *session) send(b []byte) error {
	if _, err := s.server.Write(b); err != nil {
		return s.lostBackend(err, s.lastWords())
	}
	return nil
}

// lastWords is what PostgreSQL said before it closed the connection; nil: nothing. (A Unix socket refuses what is
// written after that; by TCP it is found when the answer is read.)
func (s *session) lastWords() *Error {
	for {
		kind, raw, err := s.fromServer.next(maxMessage)
		if err != nil {
			return nil
		}
		if kind != 'E' {
			continue
		}
		if e, err := decodeError(raw); err == nil && e.fatal {
			return e
		}
	}
}

// lostBackend is the error that ends the session when its connection to PostgreSQL has; reason is what PostgreSQL said
// before, if it did.
func (s *session) lostBackend(err error, reason *Error) error {
	switch {
	case s.srv.ctx.Err() != nil:
		return errShutdown
	case reason == nil:
		reason = &Error{Code: codeConnectionFailure, Message: "the connection to PostgreSQL is lost", Hint: "Connect again."}
	}
	reason.Err, reason.fatal = err, true
	return reason
}

// untilReady reads PostgreSQL's messages up to ReadyForQuery, whose status it returns and keeps.
// What PostgreSQL may send at any time goes to the client; everything else to handle, if not nil.
func (s *session) untilReady(handle func(kind byte, raw []byte) error) (txStatus, error) {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	var reason *Error
	for {
		kind, raw, err := s.fromServer.next(maxMessage)
		if err != nil {
			return txUnknown, s.lostBackend(err, reason)
		}
		if kind == 'E' {
			e, err := decodeError(raw)
			if err != nil {
				return txUnknown, err
			}
			if e.fatal { // the connection ends
				reason = e
				continue
			}
		}
		switch kind {
		case 'Z':
			if len(raw) != headerSize+1 {
				return txUnknown, s.lostBackend(errMalformed, nil)
			}
			status := txStatus(raw[headerSize])
			s.flow.setStatus(status)
			return status, nil
		case 'S', 'A':
			if kind == 'S' {
				s.noteParameter(raw[headerSize:])
			}
			if _, err := s.client.Write(raw); err != nil {
				return txUnknown, fmt.Errorf("write to the client: %w", err)
			}
		default:
			if handle == nil {
				continue
			}
			if err := handle(kind, raw); err != nil {
				return txUnknown, err
			}
		}
	}
}

// toClient hands a message of PostgreSQL's on, and notes an error.
func (s *session) toClient(failed *bool) func(kind byte, raw []byte) error {
	return func(kind byte, raw []byte) error {
		if kind == 'E' {
			s.flow.failed()
			*failed = true
		}
		if _, err := s.client.Write(raw); err != nil {
			return fmt.Errorf("write to the client: %w", err)
		}
		return nil
	}
}

// closeReplaced closes what PostgreSQL would have dropped at the execution: its unnamed portal that the client binds
// anew, lest it be read on, and for a simple query its unnamed portal and statement. A portal with a name is not
// replaced: if PostgreSQL has one of that which the client binds, the error is the one that PostgreSQL gives.
func (s *session) closeReplaced(e *execution, status txStatus) error {
	var b []byte
	switch name := e.bind.DestinationPortal; {
	case !s.block.bound || status != txOpen:
	case name == "":
		b = encode(b, &pgproto3.Close{ObjectType: 'P'})
	default:
		rows, err := s.ask(s.ctx, "SELECT FROM pg_catalog.pg_cursors WHERE name OPERATOR(pg_catalog.=) "+Quote(name))
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			return duplicateCursor(name)
		}
	}
	if !e.extended() && s.statements.unnamed {
		s.statements.forget("")
		s.statements.unnamed = false
		b = encode(b, &pgproto3.Close{ObjectType: 'S'})
	}
	if b == nil {
		return nil
	}
	if err := s.send(encode(b, &pgproto3.Sync{})); err != nil {
		return err
	}
	_, err := s.untilReady(nil)
	return err
}

// askRequest appends the messages that run one statement under the session's own name.
func askRequest(b []byte, sql string) []byte {
	return encode(executeRequest(b, sql, nil, pgproto3.Bind{}), &pgproto3.Sync{})
}

// executeRequest is askRequest without its Sync, for a statement with parameters, of the types oids and with the values
// of a Bind.
func executeRequest(b []byte, sql string, oids []uint32, values pgproto3.Bind) []byte {
	return encode(b, &pgproto3.Close{ObjectType: 'S', Name: internalName},
		&pgproto3.Parse{Name: internalName, Query: sql, ParameterOIDs: oids},
		&pgproto3.Bind{DestinationPortal: internalName, PreparedStatement: internalName,
			ParameterFormatCodes: values.ParameterFormatCodes, Parameters: values.Parameters},
		&pgproto3.Execute{Portal: internalName},
		&pgproto3.Close{ObjectType: 'P', Name: internalName},
		&pgproto3.Close{ObjectType: 'S', Name: internalName})
}

// askAnswer reads the answer to askRequest.
func (s *session) askAnswer() (rows [][][]byte, err error) {
	var failure error
	_, err = s.untilReady(func(kind byte, raw []byte) error {
		switch kind {
		case 'D':
			var m pgproto3.DataRow
			if err := m.Decode(raw[headerSize:]); err != nil {
				return fmt.Errorf("read a row of the session's own query: %w", err)
			}
			row := make([][]byte, len(m.Values))
			for i, v := range m.Values {
				if v != nil {
					row[i] = append([]byte{}, v...)
				}
			}
			rows = append(rows, row)
		case 'E':
			e, err := decodeError(raw)
			if err != nil {
				return err
			}
			failure = e
		}
		return nil
	})
	return rows, errors.Join(err, failure)
}

// asks has cancel requests relayed to PostgreSQL, which is about to be asked something, until answered is called. The error is why the statement at hand
// has ended already.
func (s *session) asks(ctx context.Context) (answered func(), err error) {
	s.asking.Add(1) // before the context is looked at: a cancel request ends the context first, then looks here
	answered = func() { s.asking.Add(-1) }
	if ctx.Err() != nil {
		answered()
		return nil, context.Cause(ctx)
	}
	return answered, nil
}

// ask runs one statement on the backend, which the caller holds, and returns its rows.
func (s *session) ask(ctx context.Context, sql string) ([][][]byte, error) {
	return s.askBy(ctx, askRequest(nil, sql))
}

// askBy is ask by messages that end with a Sync.
func (s *session) askBy(ctx context.Context, request []byte) ([][][]byte, error) {
	answered, err := s.asks(ctx)
	if err != nil {
		return nil, err
	}
	defer answered()
	if err := s.send(request); err != nil {
		return nil, err
	}
	rows, err := s.askAnswer()
	if err != nil {
		return nil, fmt.Errorf("ask PostgreSQL on the session's connection: %w", err)
	}
	return rows, nil
}

// decodeError returns an ErrorResponse as an error.
func decodeError(raw []byte) (*Error, error) {
	var m pgproto3.ErrorResponse
	if err := m.Decode(raw[headerSize:]); err != nil {
		return nil, fmt.Errorf("read PostgreSQL's error: %w", err)
	}
	return &Error{Code: m.Code, Message: m.Message, Detail: m.Detail, Hint: m.Hint, Position: m.Position,
		fatal: m.SeverityUnlocalized == "FATAL" || m.SeverityUnlocalized == "PANIC"}, nil
}

// failTransaction puts the open transaction block into PostgreSQL's failed state, as an error of
// PostgreSQL's own would have, and returns the status. Not by a simple query: of one that fails, PostgreSQL 18 keeps a
// portal without a name that points to freed memory, and crashes if a client then executes that.
func (s *session) failTransaction() (txStatus, error) {
	const sql = `ROLLBACK TO SAVEPOINT "a statement failed on the columnar replica"`
	if err := s.send(askRequest(nil, sql)); err != nil {
		return txUnknown, err
	}
	return s.untilReady(nil)
}
