package postgres

import (
	"context"
	"fmt"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// serverFacts is what the source asks of a server before it relies on it.
type serverFacts struct {
	version              int
	walLevel, encoding   string
	recovering           bool
	mayReplicate         bool
	slots, maxSlots      int
	maxSenders           int
	slotExists           bool
	systemID             string
	walBlock, walSegment uint64
}

// readFacts asks for them. Amazon RDS gives no role the attribute REPLICATION: there the members of a role of its own may replicate.
func (s *Source) readFacts(ctx context.Context) (serverFacts, error) {
	var f serverFacts
	err := s.pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('wal_level'), current_setting('server_encoding'),
			pg_is_in_recovery(), (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user)
				OR EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(current_user, oid, 'USAGE')),
			(SELECT count(*) FROM pg_replication_slots), current_setting('max_replication_slots')::int,
			current_setting('max_wal_senders')::int,
			EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1),
			(SELECT system_identifier::text FROM pg_control_system()),
			current_setting('wal_block_size')::bigint, pg_size_bytes(current_setting('wal_segment_size'))`, s.cfg.Slot).
		Scan(&f.version, &f.walLevel, &f.encoding, &f.recovering, &f.mayReplicate, &f.slots, &f.maxSlots, &f.maxSenders, &f.slotExists,
			&f.systemID, &f.walBlock, &f.walSegment)
	if err != nil {
		return f, fmt.Errorf("ask server for its configuration: %w", err)
	}
	return f, nil
}

// check returns a terminal error unless the server can serve a stream and a copy.
func (f serverFacts) check(wantSystem string) error {
	terminal := func(code cdc.Code, remedy, detail string, args ...any) error {
		return &cdc.TerminalError{Code: code, Detail: fmt.Sprintf(detail, args...), Remedy: remedy}
	}
	switch {
	case f.version < 140000:
		return terminal(cdc.CodeConfiguration, "upgrade to PostgreSQL 14 or later", "the server has version number %d", f.version)
	case wantSystem != "" && f.systemID != wantSystem:
		return terminal(cdc.CodeSourceMismatch, "connect to the database that the replica was copied from, or "+cdc.RemedyRecopy,
			"the server is database system %s, the replica was copied from %s", f.systemID, wantSystem)
	case f.recovering:
		return terminal(cdc.CodeConfiguration, "connect to the primary", "the server is a standby")
	case f.walLevel != "logical":
		return terminal(cdc.CodeConfiguration, "set wal_level = logical and restart the server", "wal_level is %s", f.walLevel)
	case f.encoding != "UTF8":
		return terminal(cdc.CodeConfiguration, "use a database with ENCODING UTF8",
			"the database's encoding is %s, in which texts order and count otherwise", f.encoding)
	case !f.mayReplicate:
		return terminal(cdc.CodePrivilege, "ALTER ROLE … REPLICATION (on Amazon RDS: GRANT rds_replication TO …)", "the role may not replicate")
	case !f.slotExists && f.slots >= f.maxSlots:
		return terminal(cdc.CodeConfiguration, "raise max_replication_slots (two are needed) and restart the server, or drop an unused slot",
			"all %d replication slots are in use", f.maxSlots)
	case f.maxSlots < 2 || f.maxSenders < 2:
		return terminal(cdc.CodeConfiguration, "set max_replication_slots and max_wal_senders to 2 at least, better 10",
			"max_replication_slots is %d and max_wal_senders %d; the stream needs one of each and a copy another", f.maxSlots, f.maxSenders)
	}
	return nil
}

// losesChanges reports whether the server is a minor release whose decoder may leave out changes of a table that is published while a
// transaction writes to it (see the package's documentation).
func (f serverFacts) losesChanges() bool {
	minor := f.version % 10000
	switch f.version / 10000 {
	case 14:
		return minor < 18
	case 15:
		return minor < 13
	case 16:
		return minor < 9
	case 17:
		return minor < 5
	}
	return false
}

// The sizes of the headers that start a page of the write-ahead log and, longer, a segment.
const (
	shortPageHeader = 24
	longPageHeader  = 40
)

// recordEnd turns an insert position into the end of the last record. At the very start of a page PostgreSQL
// reports the insert position behind the page header, where no record will ever end.
func (f serverFacts) recordEnd(lsn uint64) uint64 {
	if f.walSegment != 0 && lsn%f.walSegment == longPageHeader {
		return lsn - longPageHeader
	}
	if f.walBlock != 0 && lsn%f.walBlock == shortPageHeader {
		return lsn - shortPageHeader
	}
	return lsn
}
