package database

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/operator/internal/lack"
)

// Reasons for which a database cannot be replicated; they are reasons of the condition OLTPReady.
const (
	ReasonUnsupportedVersion          = "UnsupportedVersion"
	ReasonNotPrimary                  = "NotPrimary"
	ReasonWALLevelNotLogical          = "WALLevelNotLogical"
	ReasonEncodingNotUTF8             = "EncodingNotUTF8"
	ReasonMissingReplicationPrivilege = "MissingReplicationPrivilege"
	ReasonMissingCreatePrivilege      = "MissingCreatePrivilege"
	ReasonTooFewReplicationSlots      = "TooFewReplicationSlots"
	ReasonTooFewWALSenders            = "TooFewWALSenders"
	ReasonArchivingFailed             = "ArchivingFailed"
)

// PostgreSQL inspects and cleans databases over the network. The zero value is ready for use.
type PostgreSQL struct{}

// facts are what is asked of a server.
type facts struct {
	version                int
	versionText            string
	standby                bool
	walLevel, encoding     string
	role, database         string
	replication, create    bool
	ownSlots, otherSlots   int
	maxSlots, maxWALSender int
	// notArchived is the segment of the log that could not be archived when that was last tried; empty: it could.
	notArchived string
}

// Inspect returns all that the database lacks for the given number of units, whose slots begin with prefix. An error
// says that it could not be asked, which is worth another try.
func (PostgreSQL) Inspect(ctx context.Context, c Connection, prefix string, units int) ([]*lack.Lack, error) {
	conn, err := connect(ctx, c)
	if l, ok := errors.AsType[*lack.Lack](err); ok {
		return []*lack.Lack{l}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	f, err := read(ctx, conn, prefix)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return []*lack.Lack{silent(conn.Config())}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask the database for its configuration: %w", err)
	}
	if len(c.Certificate) > 0 && !shows(conn, c.Certificate) {
		// The file may be a minute behind: then the next look does it again.
		if _, err := conn.Exec(ctx, "SELECT pg_reload_conf()"); err != nil {
			return nil, fmt.Errorf("let the database load its certificate: %w", err)
		}
	}
	if !c.Archives {
		f.notArchived = "" // it is not the operator's business
	}
	return f.lacks(units), nil
}

// shows reports whether the server of a connection has shown this certificate, PEM.
func shows(conn *pgx.Conn, certificate []byte) bool {
	c, encrypted := conn.PgConn().Conn().(*tls.Conn)
	block, _ := pem.Decode(certificate)
	return encrypted && block != nil && bytes.Equal(c.ConnectionState().PeerCertificates[0].Raw, block.Bytes)
}

func read(ctx context.Context, conn *pgx.Conn, prefix string) (facts, error) {
	var f facts
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'), pg_is_in_recovery(),
			current_setting('wal_level'), current_setting('server_encoding'), current_user::text, current_database()::text,
			(SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user)
				OR EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(current_user, oid, 'USAGE')),
			has_database_privilege(current_database(), 'CREATE'),
			(SELECT count(*) FROM pg_replication_slots WHERE starts_with(slot_name::text, $1)),
			(SELECT count(*) FROM pg_replication_slots WHERE NOT starts_with(slot_name::text, $1)),
			current_setting('max_replication_slots')::int, current_setting('max_wal_senders')::int,
			coalesce((SELECT last_failed_wal FROM pg_stat_archiver WHERE last_failed_time > coalesce(last_archived_time, '-infinity')), '')`, prefix).
		Scan(&f.version, &f.versionText, &f.standby, &f.walLevel, &f.encoding, &f.role, &f.database, &f.replication, &f.create,
			&f.ownSlots, &f.otherSlots, &f.maxSlots, &f.maxWALSender, &f.notArchived)
	return f, err
}

// lacks lists what is missing, the most fundamental first.
func (f facts) lacks(units int) []*lack.Lack {
	var out []*lack.Lack
	unless := func(ok bool, reason, remedy, detail string, args ...any) {
		if !ok {
			out = append(out, &lack.Lack{Reason: reason, Detail: fmt.Sprintf(detail, args...), Remedy: remedy})
		}
	}
	role := pgx.Identifier{f.role}.Sanitize()
	// A stream and, while tables are copied, a second slot of the same unit. Units copy at the same time when all are
	// new.
	need := 2 * units
	unless(f.version >= 140000, ReasonUnsupportedVersion, "upgrade to PostgreSQL 14 or later", "the server is PostgreSQL %s", f.versionText)
	unless(!f.standby, ReasonNotPrimary, "give the primary's address in the connection Secret", "the server is a standby")
	unless(f.walLevel == "logical", ReasonWALLevelNotLogical, "ALTER SYSTEM SET wal_level = logical, and restart the server", "wal_level is %s", f.walLevel)
	unless(f.encoding == "UTF8", ReasonEncodingNotUTF8, "use a database WITH ENCODING 'UTF8'", "database %q has encoding %s", f.database, f.encoding)
	unless(f.replication, ReasonMissingReplicationPrivilege, "ALTER ROLE "+role+" REPLICATION", "role %q may not replicate", f.role)
	unless(f.create, ReasonMissingCreatePrivilege, "GRANT CREATE ON DATABASE "+pgx.Identifier{f.database}.Sanitize()+" TO "+role,
		"role %q may not create publications in database %q", f.role, f.database)
	unless(f.maxSlots-f.otherSlots >= need, ReasonTooFewReplicationSlots, "raise max_replication_slots and restart the server, or drop slots that are not used",
		"%d units need %d replication slots, and %d of %d are others'", units, need, f.otherSlots, f.maxSlots)
	unless(f.maxWALSender >= need, ReasonTooFewWALSenders, "raise max_wal_senders and restart the server",
		"%d units need %d WAL senders, and max_wal_senders is %d", units, need, f.maxWALSender)
	unless(f.notArchived == "", ReasonArchivingFailed, "see in the server's log what archive_command says: the archive is full, or another database's; the log stays on the data's volume until it is archived",
		"segment %s of the log cannot be archived", f.notArchived)
	return out
}
