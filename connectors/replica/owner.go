package replica

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// Owner is a process that keeps columnar data.
//
// Invariant: of all that ever began with the same data only the last one changes them, and only that one has the source
// forget anything. A process that follows a dead one need not know that it is dead.
type Owner struct {
	// ID tells it from all others.
	ID string
	// Who says which it is, for people.
	Who string
}

// NewOwner returns this process, as one that has begun with no data yet.
func NewOwner() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "a host without a name"
	}
	return Owner{ID: rand.Text(), Who: fmt.Sprintf("process %d on %s", os.Getpid(), host)}
}

// ownersTable has a row for each owner that there was, the last with the highest serial, and of those the highest ID.
const ownersTable = "owners"

func createOwners(database string) string {
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s.%s (serial UInt64, id String, who String, since DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY (serial, id) "+
		"SETTINGS fsync_after_insert = 1, fsync_part_directory = 1", engine.Quote(database), ownersTable)
}

// owned returns a terminal error if others have begun with the data since this process did. first says that it did not
// yet; serial is the last owner's.
func (r *Replica) owned(ctx context.Context, c *engine.Conn) (first bool, serial uint64, err error) {
	var (
		serials proto.ColUInt64
		who     proto.ColStr
		since   proto.ColInt64
		known   proto.ColUInt8

		successor error
	)
	const superseded, owner = 1, 2
	sql := fmt.Sprintf("SELECT max(serial) AS last, argMax(who, (serial, id)) AS name, toUnixTimestamp64Micro(argMax(since, (serial, id))) AS at, "+
		"if(argMax(id, (serial, id)) = %[1]s, %[2]d, countIf(id = %[1]s) > 0) AS known FROM %[3]s.%[4]s",
		engine.Literal(r.cfg.Owner.ID), owner, engine.Quote(r.cfg.Database), ownersTable)
	results := proto.Results{{Name: "last", Data: &serials}, {Name: "name", Data: &who}, {Name: "at", Data: &since}, {Name: "known", Data: &known}}
	err = c.Query(ctx, sql, results, func(n int) error {
		if n > 0 {
			first, serial = known[0] != owner, serials[0]
		}
		if n > 0 && known[0] == superseded {
			successor = r.superseded(who.Row(0), time.UnixMicro(since[0]))
		}
		return nil
	})
	if err != nil {
		return false, 0, unsureError{err}
	}
	return first, serial, successor
}

// unsureError says that the engine did not tell who owns the data. Whatever it refused, it ends the session: nothing may
// be done as their owner any more.
type unsureError struct{ err error }

func (e unsureError) Error() string { return "find out who owns the columnar data: " + e.err.Error() }

func (r *Replica) superseded(who string, since time.Time) error {
	return &cdc.TerminalError{
		Code:   cdc.CodeSuperseded,
		Detail: fmt.Sprintf("the columnar data in database %q have another owner since %s: %s", r.cfg.Database, since.UTC().Format(time.RFC3339), who),
		Remedy: "stop one of the two gateways, or give each an engine and a slot of its own; restart this one to have it take over again",
	}
}

// own makes this process the owner of the data unless it is, or was before another one.
func (s *session) own(ctx context.Context) error {
	conn, r := s.publisher.conn, s.r
	if err := conn.Exec(ctx, createOwners(s.cfg.Database)); err != nil {
		return err
	}
	first, last, err := r.owned(ctx, conn)
	if err != nil || !first {
		return err
	}
	var id, who proto.ColStr
	id.Append(s.cfg.Owner.ID)
	who.Append(s.cfg.Owner.Who)
	at := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMicro).WithLocation(time.UTC)
	at.Append(r.clock())
	if err := conn.Insert(ctx, engine.Quote(s.cfg.Database)+"."+ownersTable, proto.Input{
		{Name: "serial", Data: proto.ColUInt64{last + 1}}, {Name: "id", Data: id}, {Name: "who", Data: who}, {Name: "since", Data: at},
	}); err != nil {
		return fmt.Errorf("become the owner of the columnar data: %w", err)
	}
	_, _, err = r.owned(ctx, conn) // of several that begin at once
	return err
}

// ownedStill is owned for who has no connection.
func (s *session) ownedStill(ctx context.Context) error {
	conn, err := engine.Dial(ctx, s.cfg.engine(s.cfg.Database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, _, err = s.r.owned(ctx, conn)
	return err
}
