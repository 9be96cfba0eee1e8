package cockroachdb

import (
	"errors"
	"fmt"

	"github.com/go-faster/jx"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// event is a message as it was decoded: a row's change or a resolved timestamp. Slices refer to the message.
type event struct {
	resolved bool
	// position is the resolved timestamp, or that at which the row was committed, scanned or backfilled.
	position cdc.Position
	// written is the timestamp at which the row was committed (mvcc_timestamp). It is before position in scans; zero if the message lacks it.
	written cdc.Position
	after   []byte // JSON object, nil for null
	before  []byte // JSON object, nil for null
	job     []byte // the changefeed's job, where the envelope has it
	// The fields that must be there, null or not.
	hasAfter, hasBefore bool
}

// scanned reports whether the row comes from a scan of the table: the initial one, or a backfill.
func (ev *event) scanned() bool { return !ev.written.IsZero() && ev.written.Before(ev.position) }

// What a changefeed lacks whose messages cannot be used.
var (
	errNoUpdated = errors.New("it has no timestamp; the changefeed needs the options updated and, with envelope=enriched, enriched_properties=source")
	errNoBefore  = errors.New("it does not say what the row was before; the changefeed needs the option diff")
	errNoAfter   = errors.New("it has no row; the changefeed needs envelope=wrapped or envelope=enriched")
)

// envelopeDecoder decodes messages, wrapped or enriched. It may be used again and again, by one goroutine.
type envelopeDecoder struct {
	d       jx.Decoder
	ev      event
	scratch []byte
}

// decode decodes a message. The event is valid until the next call.
func (e *envelopeDecoder) decode(value []byte) (*event, error) {
	e.ev = event{job: e.ev.job[:0]}
	e.d.ResetBytes(value)
	if err := e.d.ObjBytes(e.field); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	switch {
	case e.ev.resolved:
	case !e.ev.hasAfter:
		return nil, fmt.Errorf("decode message: %w", errNoAfter)
	case e.ev.position.IsZero():
		return nil, fmt.Errorf("decode message: %w", errNoUpdated)
	case !e.ev.hasBefore:
		return nil, fmt.Errorf("decode message: %w", errNoBefore)
	}
	return &e.ev, nil
}

func (e *envelopeDecoder) field(d *jx.Decoder, key []byte) (err error) {
	switch string(key) {
	case "after":
		e.ev.after, err = rawObject(d)
		e.ev.hasAfter = true
	case "before":
		e.ev.before, err = rawObject(d)
		e.ev.hasBefore = true
	case "updated":
		e.ev.position, err = e.hlc(d)
	case "mvcc_timestamp":
		e.ev.written, err = e.hlc(d)
	case "resolved":
		e.ev.position, err = e.hlc(d)
		e.ev.resolved = true
	case "source":
		return d.ObjBytes(e.source)
	case "payload": // with enriched_properties=schema
		return d.ObjBytes(e.field)
	default:
		return d.Skip()
	}
	return err
}

func (e *envelopeDecoder) source(d *jx.Decoder, key []byte) (err error) {
	switch string(key) {
	case "ts_hlc":
		e.ev.position, err = e.hlc(d)
	case "mvcc_timestamp":
		e.ev.written, err = e.hlc(d)
	case "job_id":
		e.ev.job, err = d.StrAppend(e.ev.job[:0])
	default:
		return d.Skip()
	}
	return err
}

func (e *envelopeDecoder) hlc(d *jx.Decoder) (p cdc.Position, err error) {
	if d.Next() == jx.Null {
		return p, d.Null()
	}
	if e.scratch, err = d.StrAppend(e.scratch[:0]); err != nil {
		return p, err
	}
	return parseHLC(e.scratch)
}

func rawObject(d *jx.Decoder) ([]byte, error) {
	switch d.Next() {
	case jx.Null:
		return nil, d.Null()
	case jx.Object:
		return d.Raw()
	}
	return nil, errors.New("a row is not an object")
}
