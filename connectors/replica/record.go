package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

const (
	recordsTable = "epochs"
	recordFormat = 2
	// formerFormat is that of data whose documents are in another form.
	formerFormat = 1
	// recordsPerPartition records are dropped at once when they are old.
	recordsPerPartition = 100
)

// record is what a restart begins from. It is written after all that it names is on disk.
type record struct {
	Format int `json:"format"`
	// Serial numbers the records; the highest is valid.
	Serial uint64 `json:"serial"`
	// Source is Config.SourceID.
	Source string `json:"source"`
	Epoch  uint32 `json:"epoch"`
	// Objects is the highest number in an object's name so far; names are never used again.
	Objects uint64 `json:"objects"`
	// Position is where the stream goes on; no table is behind it.
	Position cdc.Position `json:"position"`
	// Bookmark is what the source gave for Position, if it is a [cdc.Bookmarker].
	Bookmark []byte `json:"bookmark,omitempty"`
	// Time is the one that Position deserves: all that was committed then is before it.
	Time   time.Time       `json:"time"`
	Tables []recordedTable `json:"tables"`
}

type recordedTable struct {
	Def  *cdc.Table `json:"def"`
	Base string     `json:"base"`
	// Position says which changes are in the base: those up to it.
	Position cdc.Position `json:"position"`
	// Time is the one that Position deserves; zero: not known.
	Time time.Time `json:"time,omitzero"`
	Rows int64     `json:"rows"`
	// Physical counts the rows together with those that are masked.
	Physical int64 `json:"physical"`
}

func (t *recordedTable) watermark() cdc.Watermark {
	return cdc.Watermark{Position: t.Position, Time: t.Time}
}

// watermark is what the record's state is up to. Records that were written before tables had times carry a time that is too late for
// their position; the result then has no time.
func (r *record) watermark() cdc.Watermark {
	w := cdc.Watermark{Position: r.Position, Time: r.Time}
	for _, t := range r.Tables {
		w = earlier(w, t.watermark())
	}
	return w
}

func createRecords(database string) string {
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s.%s (serial UInt64, position String, commit_time DateTime64(6, 'UTC'), record String) "+
		"ENGINE = MergeTree ORDER BY serial PARTITION BY intDiv(serial, %d) "+
		"SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_compressed_bytes_to_fsync_after_merge = 1",
		engine.Quote(database), recordsTable, recordsPerPartition)
}

// readRecord returns the newest record, or nil if there is none. One of the former format is without the tables with
// documents: they are copied anew.
func readRecord(ctx context.Context, c *engine.Conn, database string) (*record, error) {
	rows, err := c.Strings(ctx, fmt.Sprintf("SELECT record AS n FROM %s.%s ORDER BY serial DESC LIMIT 1",
		engine.Quote(database), recordsTable))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal([]byte(rows[0]), r); err != nil {
		return nil, fmt.Errorf("read the epoch record: %w", err)
	}
	if r.Format == formerFormat {
		r.Format, r.Tables = recordFormat, slices.DeleteFunc(r.Tables, func(t recordedTable) bool {
			return slices.ContainsFunc(t.Def.Columns, func(c cdc.Column) bool { return c.Type == pgtype.JSONBOID })
		})
	}
	if r.Format != recordFormat {
		return nil, &cdc.TerminalError{Code: cdc.CodeConfiguration,
			Detail: fmt.Sprintf("the columnar data in database %q have format %d, this version reads format %d", database, r.Format, recordFormat),
			Remedy: "drop that database in the columnar engine to copy the tables anew, or run the version that wrote it"}
	}
	return r, nil
}

func writeRecord(ctx context.Context, c *engine.Conn, database string, r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the epoch record: %w", err)
	}
	table := engine.Quote(database) + "." + recordsTable
	// As a block: with some hundreds of tables the record is longer than a statement may be.
	var position, body proto.ColStr
	position.Append(r.Position.String())
	body.AppendBytes(text)
	at := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMicro).WithLocation(time.UTC)
	at.Append(r.Time)
	if err := c.Insert(ctx, table, proto.Input{{Name: "serial", Data: proto.ColUInt64{r.Serial}}, {Name: "position", Data: position},
		{Name: "commit_time", Data: at}, {Name: "record", Data: body}}); err != nil {
		return fmt.Errorf("write the epoch record: %w", err)
	}
	return nil
}

// dropOldRecords drops the partitions before that of a record. A DELETE would write every part anew, and each record is one.
func dropOldRecords(ctx context.Context, c *engine.Conn, database string, serial uint64) error {
	old, err := c.Strings(ctx, fmt.Sprintf("SELECT DISTINCT partition AS n FROM system.parts WHERE database = %s AND table = %s AND active AND toUInt64(partition) < %d",
		engine.Literal(database), engine.Literal(recordsTable), serial/recordsPerPartition))
	if err != nil {
		return fmt.Errorf("look for old epoch records: %w", err)
	}
	for _, partition := range old {
		if err := c.Exec(ctx, fmt.Sprintf("ALTER TABLE %s.%s DROP PARTITION %s", engine.Quote(database), recordsTable, partition)); err != nil {
			return fmt.Errorf("drop old epoch records: %w", err)
		}
	}
	return nil
}

// rebased is a table whose next base is complete but not installed.
type rebased struct {
	table *table
	copied
}

// writeRecord makes the durable bases of all tables, with a new one if there
// is, what a restart begins from. The source may then forget what is in all of them.
func (c *compactor) writeRecord(ctx context.Context, next *rebased) error {
	var (
		r     *record
		bases []*object
		gone  []uint32
	)
	err := c.s.publisher.do(ctx, func() {
		r, bases = c.assemble(next)
		gone = c.s.publisher.limbo
	})
	if err != nil || r == nil {
		return err
	}
	if err := writeRecord(ctx, c.conn, c.s.cfg.Database, r); err != nil {
		c.s.ledger.drop(bases...)
		return err
	}
	c.s.ledger.drop(c.recorded...)
	c.recorded, c.recordSerial, c.recordedAt, c.recordTime = bases, r.Serial, r.Position, c.s.r.clock()
	err = c.s.publisher.do(ctx, func() {
		// What a restart could have brought back, it cannot any more.
		p := c.s.publisher
		c.s.ledger.free(gone)
		p.limbo = p.limbo[len(gone):]
		// A base that was found to be the table at a later position stays so: the next record must
		// not fall back, for the source may have forgotten what lies between.
		for _, rt := range r.Tables {
			if t := p.tables[rt.Def.ID]; t != nil && t.stored.durable.base.name == rt.Base {
				t.stored.durable.upTo = rt.watermark()
			}
		}
	})
	// Another owner may have begun before the record was there, and go on from the one before.
	if _, _, lost := c.s.r.owned(ctx, c.conn); lost != nil {
		return lost
	}
	c.s.src.Confirm(r.Position)
	if err == nil && r.Serial%recordsPerPartition == 0 {
		// The record counts all the same: whoever called must not take its base for one that is named nowhere.
		if err := dropOldRecords(ctx, c.conn, c.s.cfg.Database, r.Serial); err != nil {
			c.s.log.Warn("old epoch records stay until there are as many again", "error", err)
		}
	}
	return err
}

// assemble makes the next record. It runs on the publisher's goroutine. The bases
// that it names are held.
//
// Its position never falls back, for the source may have forgotten what lies between: it is not after
// that of any base, be it one that waits for the stream, nor after that of a copy which is still being taken.
func (c *compactor) assemble(next *rebased) (*record, []*object) {
	p := c.s.publisher
	if p.position.IsZero() {
		return nil, nil
	}
	arriving, limit := c.s.arriving()
	r := &record{
		Format: recordFormat, Serial: c.recordSerial + 1, Source: c.s.cfg.SourceID, Epoch: p.epoch,
		Objects: c.s.names.highest(),
	}
	upTo := earlier(p.watermark(), limit)
	var bases []*object
	add := func(def *cdc.Table, at copied) {
		upTo = earlier(upTo, at.upTo)
		bases = append(bases, at.base)
		r.Tables = append(r.Tables, recordedTable{Def: def, Base: at.base.name,
			Position: at.upTo.Position, Time: at.upTo.Time, Rows: at.rows, Physical: at.physical})
	}
	for id, t := range p.tables {
		if _, replaced := arriving[id]; replaced {
			continue
		}
		st := &t.stored
		at := st.durable
		switch {
		case next != nil && next.table == t:
			at = next.copied
		case st.since.IsZero():
			// Nothing changed since: the base is the table at the published position too.
			if !p.position.Before(at.upTo.Position) {
				at.upTo = p.watermark()
			}
		}
		add(t.def, at)
	}
	for _, t := range arriving {
		add(t.def, t.copied)
	}
	r.Position, r.Time = upTo.Position, upTo.Time
	if b, ok := c.s.src.(cdc.Bookmarker); ok {
		r.Bookmark = b.Bookmark(r.Position)
	}
	c.s.ledger.hold(bases...)
	return r, bases
}

// arrival is a table with a complete base that the publisher has not been handed yet.
type arrival struct {
	def *cdc.Table
	copied
}

// arriving returns the tables whose bases are complete, but which the publisher does not have: the stream has not reached them, or no
// epoch came since. limit is a watermark whose position no copy under way is before; zero if there is none.
func (s *session) arriving() (tables map[cdc.TableID]arrival, limit cdc.Watermark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables = map[cdc.TableID]arrival{}
	for id, t := range s.tables {
		if t.activated != nil {
			tables[id] = arrival{t.def, *t.activated}
		}
	}
	return tables, s.copier.since
}

// earlier returns the watermark of the lesser position, of which limit's may be zero: none. Of equal ones it is that of the earlier time, for
// either may not be known.
func earlier(w, limit cdc.Watermark) cdc.Watermark {
	switch order := limit.Position.Compare(w.Position); {
	case limit.Position.IsZero() || order > 0:
		return w
	case order < 0:
		return limit
	case limit.Time.Before(w.Time):
		w.Time = limit.Time
	}
	return w
}
