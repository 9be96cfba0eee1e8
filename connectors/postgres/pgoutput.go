package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// The kinds of pgoutput message that protocol version 1 sends.
const (
	kindBegin    = 'B'
	kindCommit   = 'C'
	kindOrigin   = 'O'
	kindRelation = 'R'
	kindType     = 'Y'
	kindInsert   = 'I'
	kindUpdate   = 'U'
	kindDelete   = 'D'
	kindTruncate = 'T'
	kindMessage  = 'M'
)

// The kinds of tuple inside a change.
const (
	tupleNew = 'N'
	tupleKey = 'K' // the old values of the replica identity only
	tupleOld = 'O' // the whole old row (REPLICA IDENTITY FULL)
)

var errShort = errors.New("message ends early")

// pgEpoch is PostgreSQL's zero of time.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func pgTime(micros int64) time.Time {
	// Seconds and the rest apart: microseconds as a Duration overflow after 292 years.
	return time.Unix(pgEpoch.Unix()+micros/1e6, micros%1e6*1e3)
}

// beginMessage opens a transaction.
type beginMessage struct {
	commitLSN uint64 // start of the commit record
	xid       uint32
}

func parseBegin(b []byte) (beginMessage, error) {
	if len(b) < 20 {
		return beginMessage{}, fmt.Errorf("decode begin: %w", errShort)
	}
	return beginMessage{commitLSN: binary.BigEndian.Uint64(b), xid: binary.BigEndian.Uint32(b[16:])}, nil
}

func parseCommit(b []byte) (cdc.Commit, error) {
	if len(b) < 25 {
		return cdc.Commit{}, fmt.Errorf("decode commit: %w", errShort)
	}
	return cdc.Commit{
		Position: cdc.Position{Major: binary.BigEndian.Uint64(b[9:])},
		Time:     pgTime(int64(binary.BigEndian.Uint64(b[17:]))),
	}, nil
}

// shape is what a relation message says about a table; two shapes are compared to
// notice that a definition changed.
type shape struct {
	schema, name string
	identity     byte // pg_class.relreplident
	columns      []shapeColumn
}

type shapeColumn struct {
	name     string
	typ      uint32
	modifier int32
	key      bool // part of the replica identity
}

func (s shape) equal(t shape) bool {
	if s.schema != t.schema || s.name != t.name || s.identity != t.identity || len(s.columns) != len(t.columns) {
		return false
	}
	for i := range s.columns {
		if s.columns[i] != t.columns[i] {
			return false
		}
	}
	return true
}

func parseRelation(b []byte) (cdc.TableID, shape, error) {
	r := reader{b: b}
	id := r.uint32()
	s := shape{schema: r.cstring(), name: r.cstring(), identity: r.byte()}
	n := int(r.uint16())
	// A column takes at least 10 bytes: a malformed count cannot make us allocate more than the message is worth.
	if n*10 > len(r.b) {
		return 0, shape{}, fmt.Errorf("decode relation %d: %w", id, errShort)
	}
	s.columns = make([]shapeColumn, n)
	for i := range s.columns {
		flags := r.byte()
		s.columns[i] = shapeColumn{name: r.cstring(), typ: r.uint32(), modifier: int32(r.uint32()), key: flags&1 != 0}
	}
	if r.short {
		return 0, shape{}, fmt.Errorf("decode relation %d: %w", id, errShort)
	}
	if s.schema == "" {
		s.schema = "pg_catalog" // pgoutput's abbreviation
	}
	return cdc.TableID(id), s, nil
}

func parseTruncate(b []byte) ([]cdc.TableID, error) {
	r := reader{b: b}
	n := int(r.uint32())
	r.byte() // options: CASCADE has been resolved, RESTART IDENTITY is about sequences
	if n < 0 || n*4 > len(r.b) {
		return nil, fmt.Errorf("decode truncate: %w", errShort)
	}
	ids := make([]cdc.TableID, n)
	for i := range ids {
		ids[i] = cdc.TableID(r.uint32())
	}
	return ids, nil
}

// splitChange takes the relation and the kind of the first tuple off an insert, update or delete.
func splitChange(b []byte) (id cdc.TableID, kind byte, tuple []byte, err error) {
	if len(b) < 5 {
		return 0, 0, nil, fmt.Errorf("decode change: %w", errShort)
	}
	return cdc.TableID(binary.BigEndian.Uint32(b)), b[4], b[5:], nil
}

// decodeTuple fills row, whose data then aliases b, and returns what follows the tuple. into says which of the row's columns each of the
// tuple's is; -1: none.
func decodeTuple(b []byte, row cdc.Row, into []int) ([]byte, error) {
	if len(b) < 2 {
		return nil, fmt.Errorf("decode tuple: %w", errShort)
	}
	if n := int(binary.BigEndian.Uint16(b)); n != len(into) {
		return nil, fmt.Errorf("decode tuple: %d columns, the relation has %d", n, len(into))
	}
	b = b[2:]
	for _, i := range into {
		if len(b) == 0 {
			return nil, fmt.Errorf("decode tuple: %w", errShort)
		}
		var value cdc.Datum
		switch b[0] {
		case 'b', 't':
			if len(b) < 5 {
				return nil, fmt.Errorf("decode tuple: %w", errShort)
			}
			size := int(binary.BigEndian.Uint32(b[1:]))
			if size > len(b)-5 {
				return nil, fmt.Errorf("decode tuple: %w", errShort)
			}
			kind := cdc.Binary
			if b[0] == 't' {
				kind = cdc.Text
			}
			value = cdc.Datum{Kind: kind, Data: b[5 : 5+size : 5+size]}
			b = b[5+size:]
		case 'n':
			value.Kind = cdc.Null
			b = b[1:]
		case 'u':
			value.Kind = cdc.Unchanged
			b = b[1:]
		default:
			return nil, fmt.Errorf("decode tuple: column kind %q is unknown", b[0])
		}
		if i >= 0 {
			row[i] = value
		}
	}
	return b, nil
}

// reader takes fields off a message; once it ran short all further fields are zero.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if len(r.b) < n {
		r.b, r.short = nil, true
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if v := r.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if v := r.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (r *reader) cstring() string {
	i := bytes.IndexByte(r.b, 0)
	if i < 0 {
		r.b, r.short = nil, true
		return ""
	}
	s := string(r.b[:i])
	r.b = r.b[i+1:]
	return s
}
