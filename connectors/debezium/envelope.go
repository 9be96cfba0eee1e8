package debezium

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-faster/jx"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// rowEvent is a row's change as a message carries it. Slices refer to the message.
type rowEvent struct {
	table  *tableName
	txID   uint64
	lsn    uint64 // of the change's record in the log, which several may share
	order  uint64 // total_order: the change's number in its transaction, from 1
	micros int64  // commit time, µs since 1970
	op     byte   // c, u, d, t (truncate), r (snapshot) or m (message)
	before []byte // JSON object, nil for null
	after  []byte // JSON object, nil for null
	// replicated says that the transaction came to the server by replication.
	replicated bool
}

// endEvent ends a transaction.
type endEvent struct {
	txID     uint64
	position cdc.Position
	millis   int64 // commit time, ms since 1970
	counts   []rowCount
	sent     time.Time // when Connect sent it, by its clock
	// follows says that it follows a transaction that has no END, see [assembler.unended].
	follows bool
}

// rowCount is how many rows of a transaction are of a table, which is named as by [tableName.full].
type rowCount struct {
	table string
	rows  uint64
}

var (
	errNoTransaction = errors.New("it carries no transaction; set provide.transaction.metadata=true")
	errTransactionID = errors.New("its transaction id is not txid:lsn")
)

// parseTransactionID splits "998:23048672".
func parseTransactionID(id []byte) (txID uint64, position cdc.Position, err error) {
	left, right, ok := bytes.Cut(id, []byte{':'})
	if !ok {
		return 0, cdc.Position{}, errTransactionID
	}
	if txID, err = parseUint(left); err == nil {
		position.Major, err = parseUint(right)
	}
	return txID, position, err
}

func parseUint(b []byte) (uint64, error) {
	if len(b) == 0 || len(b) > 19 {
		return 0, errTransactionID
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, errTransactionID
		}
		n = n*10 + uint64(c-'0')
	}
	return n, nil
}

// envelopeDecoder decodes messages. It may be used again and again, by one goroutine.
type envelopeDecoder struct {
	d             jx.Decoder
	scratch       []byte
	schema, table []byte // of the message at hand
	names         tableNames
}

// row decodes the value of a message in a table's topic.
func (e *envelopeDecoder) row(value []byte) (rowEvent, error) {
	var ev rowEvent
	haveTransaction := false
	e.schema, e.table = e.schema[:0], e.table[:0]
	e.d.ResetBytes(value)
	err := e.d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "before":
			ev.before, err = rawObject(d)
		case "after":
			ev.after, err = rawObject(d)
		case "op":
			ev.op, err = e.op(d)
		case "source":
			return e.source(d, &ev)
		case "transaction":
			haveTransaction, err = e.transaction(d, &ev)
		default:
			return d.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return ev, fmt.Errorf("decode change: %w", err)
	case ev.op == 0:
		return ev, errors.New("decode change: it has no op; is the converter JsonConverter with schemas.enable=false?")
	case !haveTransaction:
		return ev, fmt.Errorf("decode change: %w", errNoTransaction)
	case len(e.table) == 0:
		return ev, errors.New("decode change: its source names no table; is the connector Debezium's for PostgreSQL?")
	}
	ev.table = e.names.intern(e.schema, e.table)
	return ev, nil
}

func rawObject(d *jx.Decoder) ([]byte, error) {
	if d.Next() == jx.Null {
		return nil, d.Null()
	}
	raw, err := d.Raw()
	if err == nil && raw.Type() != jx.Object {
		err = fmt.Errorf("a row is a %v, not an object", raw.Type())
	}
	return raw, err
}

func (e *envelopeDecoder) op(d *jx.Decoder) (byte, error) {
	var err error
	if e.scratch, err = d.StrAppend(e.scratch[:0]); err != nil {
		return 0, err
	}
	if len(e.scratch) != 1 {
		return 0, fmt.Errorf("op %q is unknown", e.scratch)
	}
	return e.scratch[0], nil
}

func (e *envelopeDecoder) source(d *jx.Decoder, ev *rowEvent) error {
	return d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "ts_us":
			ev.micros, err = d.Int64()
		case "schema":
			e.schema, err = d.StrAppend(e.schema[:0])
		case "table":
			e.table, err = d.StrAppend(e.table[:0])
		case "origin":
			ev.replicated = d.Next() != jx.Null
			return d.Skip()
		default:
			return d.Skip()
		}
		return err
	})
}

func (e *envelopeDecoder) transaction(d *jx.Decoder, ev *rowEvent) (have bool, err error) {
	if d.Next() == jx.Null {
		return false, d.Null()
	}
	err = d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "id":
			if e.scratch, err = d.StrAppend(e.scratch[:0]); err == nil {
				var p cdc.Position
				ev.txID, p, err = parseTransactionID(e.scratch)
				ev.lsn = p.Major
			}
		case "total_order":
			ev.order, err = d.UInt64()
		default:
			return d.Skip()
		}
		return err
	})
	return ev.order > 0, err
}

// boundary decodes a message of the transaction topic; ended is false for a BEGIN.
func (e *envelopeDecoder) boundary(value []byte) (ev endEvent, ended bool, err error) {
	e.d.ResetBytes(value)
	status, id := "", ""
	err = e.d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "status":
			status, err = d.Str()
		case "id":
			id, err = d.Str()
		case "ts_ms":
			ev.millis, err = d.Int64()
		case "data_collections":
			ev.counts, err = decodeCounts(d)
		default:
			return d.Skip()
		}
		return err
	})
	if err == nil && status != "BEGIN" && status != "END" {
		err = fmt.Errorf("status %q is unknown", status)
	}
	if err == nil {
		ev.txID, ev.position, err = parseTransactionID([]byte(id))
	}
	if err != nil {
		return ev, false, fmt.Errorf("decode bound of a transaction: %w", err)
	}
	return ev, status == "END", nil
}

func decodeCounts(d *jx.Decoder) (counts []rowCount, err error) {
	if d.Next() == jx.Null {
		return nil, d.Null()
	}
	err = d.Arr(func(d *jx.Decoder) error {
		var c rowCount
		err := d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
			switch string(key) {
			case "data_collection":
				c.table, err = d.Str()
			case "event_count":
				c.rows, err = d.UInt64()
			default:
				return d.Skip()
			}
			return err
		})
		if err != nil || strings.HasPrefix(c.table, "io.debezium.") { // a count of logical messages, by the name of a class
			return err
		}
		// Tables whose schemas or names have points may be counted by the same name, each by itself.
		if i := slices.IndexFunc(counts, func(has rowCount) bool { return has.table == c.table }); i >= 0 {
			counts[i].rows += c.rows
			return nil
		}
		counts = append(counts, c)
		return nil
	})
	return counts, err
}

// String prints the id as Debezium does.
func (ev endEvent) String() string {
	return strconv.FormatUint(ev.txID, 10) + ":" + strconv.FormatUint(ev.position.Major, 10)
}
