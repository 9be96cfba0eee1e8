package changefeedtest

import (
	"strconv"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Message is what a changefeed sends to Kafka. A resolved timestamp has no key.
type Message struct {
	Topic      string
	Partition  int32
	Key, Value []byte
	// Sent is the message's time, by the clock of the changefeed's node.
	Sent time.Time
}

// Envelope is the form of messages.
type Envelope uint8

// The envelopes: envelope=wrapped, envelope=enriched with enriched_properties=source, and with schema as well.
const (
	Wrapped Envelope = iota
	Enriched
	EnrichedWithSchema
)

// Write is what a transaction left of a row.
type Write struct {
	Topic string
	// Key is the primary key as a JSON array.
	Key []byte
	// Before and After are JSON objects; nil for a row that was not there, or is not any more.
	Before, After []byte
	// Written is when a scanned row was committed; zero unless the write is a scan's.
	Written cdc.Position
}

// Transaction is a set of writes that were committed, or scanned, at one timestamp.
type Transaction struct {
	At     cdc.Position
	Writes []Write
}

func appendHLC(b []byte, p cdc.Position) []byte {
	b = strconv.AppendUint(b, p.Major, 10)
	b = append(b, '.')
	logical := strconv.Itoa(int(p.Minor))
	b = append(b, "0000000000"[len(logical):]...)
	return append(b, logical...)
}

func orNull(object []byte) []byte {
	if object == nil {
		return []byte("null")
	}
	return object
}

// value encodes a write's message.
func (f *Feed) value(w *Write, at cdc.Position) []byte {
	b := make([]byte, 0, len(w.Before)+len(w.After)+len(w.Key)+200)
	written := w.Written
	if written.IsZero() {
		written = at
	}
	if f.cfg.Envelope == Wrapped {
		b = append(append(b, `{"after": `...), orNull(w.After)...)
		b = append(append(b, `, "before": `...), orNull(w.Before)...)
		b = append(append(b, `, "key": `...), w.Key...)
		b = append(appendHLC(append(b, `, "mvcc_timestamp": "`...), written), `", "updated": "`...)
		return append(appendHLC(b, at), `"}`...)
	}
	if f.cfg.Envelope == EnrichedWithSchema {
		b = append(b, `{"payload": `...)
	}
	op := `"u"`
	switch {
	case w.After == nil:
		op = `"d"`
	case w.Before == nil:
		op = `"c"`
	}
	b = append(append(b, `{"after": `...), orNull(w.After)...)
	b = append(append(b, `, "before": `...), orNull(w.Before)...)
	b = append(append(b, `, "key": `...), w.Key...)
	b = append(append(b, `, "op": `...), op...)
	b = append(append(b, `, "source": {"changefeed_sink": "kafka", "job_id": "`...), f.cfg.Job...)
	b = append(appendHLC(append(b, `", "mvcc_timestamp": "`...), written), `", "primary_keys": ["id"], "ts_hlc": "`...)
	b = append(appendHLC(b, at), `", "ts_ns": `...)
	b = append(strconv.AppendUint(b, at.Major, 10), `}, "ts_ns": `...)
	b = append(strconv.AppendUint(b, at.Major+uint64(f.random.IntN(1e9)), 10), '}')
	if f.cfg.Envelope == EnrichedWithSchema {
		b = append(b, `, "schema": {"type": "struct", "name": "cockroachdb.envelope", "optional": false, "fields": [{"field": "after"}]}}`...)
	}
	return b
}

func resolvedValue(at cdc.Position) []byte {
	return append(appendHLC([]byte(`{"resolved":"`), at), `"}`...)
}
