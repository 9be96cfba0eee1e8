package pgwire

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// description is PostgreSQL's own description of a statement.
type description struct {
	fields     []pgproto3.FieldDescription
	params     []uint32
	at         time.Time
	generation uint64 // of the analytical route's definitions, read before PostgreSQL was asked
	// parses and expiries are the session's counts when PostgreSQL was asked.
	parses, expiries uint64
}

// maxDescriptions bounds what a session remembers of them.
const maxDescriptions = 256

// describedByName reports whether PostgreSQL describes the client's prepared statement rather than a text.
func (e *execution) describedByName() bool { return e.extended() && e.class.Kind == Read }

// describedAs returns what PostgreSQL said of the statement, if that holds still. A prepared statement keeps the
// columns that it had when it was parsed: what PostgreSQL said of a later one of the same text may have others.
func (s *session) describedAs(e *execution, key string, generation uint64) *description {
	holds := func(d *description) bool {
		return d != nil && d.generation == generation && d.expiries == s.expiries && s.srv.cfg.Now().Sub(d.at) <= s.srv.cfg.DescriptionAge
	}
	if e.describedByName() && holds(e.statement.described) {
		return e.statement.described
	}
	if d := s.described[key]; holds(d) && (!e.describedByName() || d.parses < e.statement.parse) {
		return d
	}
	return nil
}

// MaxRememberedText bounds, in bytes with their parameters, the statements of which something is remembered: long ones
// carry their data in them, and hardly come twice.
const MaxRememberedText = 16 << 10

func (s *session) remember(e *execution, key string, d *description) {
	if e.describedByName() {
		e.statement.described = d
	}
	if len(key) > MaxRememberedText {
		return
	}
	if len(s.described) >= maxDescriptions {
		clear(s.described)
	}
	s.described[key] = d
}

// interrupted reports whether an error is of how long the statement took, or of who stopped it, rather than of what it
// says.
func interrupted(raw []byte) bool {
	e, err := decodeError(raw)
	return err == nil && (e.Code == codeQueryCanceled || e.Code == codeLockNotAvailable)
}

// text is the query's, without EXPLAIN or DECLARE around it.
func (e *execution) text() string {
	if e.class.Inner != "" {
		return e.class.Inner
	}
	return e.sql
}

func describeRequest(b []byte, e *execution) []byte {
	if e.describedByName() {
		return encode(b, &pgproto3.Describe{ObjectType: 'S', Name: e.statement.name}, &pgproto3.Sync{})
	}
	parse := &pgproto3.Parse{Name: internalName, Query: e.text()}
	if e.extended() {
		parse.ParameterOIDs = e.statement.oids
	}
	return encode(b, &pgproto3.Close{ObjectType: 'S', Name: internalName}, parse,
		&pgproto3.Describe{ObjectType: 'S', Name: internalName}, &pgproto3.Close{ObjectType: 'S', Name: internalName}, &pgproto3.Sync{})
}

// readDescription reads the answer to describeRequest; refused is PostgreSQL's error, if any.
func (s *session) readDescription(d *description) (status txStatus, refused []byte, err error) {
	status, err = s.untilReady(func(kind byte, raw []byte) error {
		switch kind {
		case 't':
			var m pgproto3.ParameterDescription
			if err := m.Decode(raw[headerSize:]); err != nil {
				return fmt.Errorf("read PostgreSQL's parameter description: %w", err)
			}
			d.params = m.ParameterOIDs
		case 'T':
			var m pgproto3.RowDescription
			if err := m.Decode(raw[headerSize:]); err != nil {
				return fmt.Errorf("read PostgreSQL's row description: %w", err)
			}
			d.fields = make([]pgproto3.FieldDescription, len(m.Fields))
			for i, f := range m.Fields {
				f.Name = slices.Clone(f.Name)
				d.fields[i] = f
			}
		case 'E':
			s.flow.failed()
			refused = slices.Clone(raw)
		}
		return nil
	})
	return status, refused, err
}
