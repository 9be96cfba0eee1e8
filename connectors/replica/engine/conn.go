package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// Config says how to reach the engine.
type Config struct {
	Addr     string // host:port of the native protocol
	Database string // of unqualified names; it need not exist
	User     string
	Password string
	// Threads limits each statement; 0 means 1.
	Threads int
	// Urgent statements come before those of other connections where the engine may set priorities (CAP_SYS_NICE); elsewhere it means nothing.
	Urgent bool
}

// urgentNice is the priority of threads that run urgent statements: they get three times as much of a CPU as those of an engine that is
// started as usual.
const urgentNice = -5

// Conn is one connection. It is not safe for concurrent use.
type Conn struct {
	client *ch.Client
}

// Dial connects to the engine.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	settings := []ch.Setting{
		{Key: "max_threads", Value: strconv.Itoa(max(1, cfg.Threads)), Important: true},
		{Key: "max_insert_threads", Value: "1", Important: true},
		{Key: "async_insert", Value: "0", Important: true},
		// One insert becomes one block, one INSERT SELECT as few parts as memory allows.
		{Key: "max_insert_block_size", Value: "1048576", Important: true},
		{Key: "optimize_on_insert", Value: "0", Important: true},
		{Key: "lightweight_deletes_sync", Value: "2", Important: true},
		{Key: "mutations_sync", Value: "2", Important: true},
		{Key: "max_execution_time", Value: "0", Important: true},
		// Statements name every delta of a table, or thousands of rows. (In the statement itself it would be too late.)
		{Key: "max_query_size", Value: "67108864", Important: true},
		// A sixth of what a small insert costs, and nobody reads them here.
		{Key: "send_profile_events", Value: "0"},
	}
	if cfg.Urgent {
		settings = append(settings, ch.Setting{Key: "os_threads_nice_value_query", Value: strconv.Itoa(urgentNice)})
	}
	client, err := ch.Dial(ctx, ch.Options{
		Address: cfg.Addr, Database: cfg.Database, User: cfg.User, Password: cfg.Password,
		ClientName: "freshet-replica", Settings: settings,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the columnar engine at %s: %w", cfg.Addr, err)
	}
	return &Conn{client: client}, nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	if err := c.client.Close(); err != nil && !errors.Is(err, ch.ErrClosed) {
		return fmt.Errorf("close the connection to the columnar engine: %w", err)
	}
	return nil
}

// Exec runs a statement without a result.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	return c.do(ctx, ch.Query{Body: sql})
}

// Insert adds rows to a table, which is a quoted name, in one block: all of them or none.
func (c *Conn) Insert(ctx context.Context, table string, in proto.Input) error {
	var sql strings.Builder
	sql.WriteString("INSERT INTO " + table + " (")
	for i, col := range in {
		if i > 0 {
			sql.WriteByte(',')
		}
		sql.WriteString(Quote(col.Name))
	}
	sql.WriteString(") VALUES")
	return c.do(ctx, ch.Query{Body: sql.String(), Input: in})
}

// Query runs a SELECT. Each block of its result is decoded into result, then
// handed to each with its number of rows; the next block replaces it.
func (c *Conn) Query(ctx context.Context, sql string, result proto.Results, each func(rows int) error) error {
	return c.do(ctx, ch.Query{Body: sql, Result: result,
		OnResult: func(_ context.Context, b proto.Block) error { return each(b.Rows) }})
}

// Count runs a SELECT that yields one UInt64 column named "n", in one row.
func (c *Conn) Count(ctx context.Context, sql string) (uint64, error) {
	var col proto.ColUInt64
	var v uint64
	err := c.Query(ctx, sql, proto.Results{{Name: "n", Data: &col}}, func(rows int) error {
		if rows > 0 {
			v = col[0]
		}
		return nil
	})
	return v, err
}

// Strings runs a SELECT that yields one String column named "n".
func (c *Conn) Strings(ctx context.Context, sql string) ([]string, error) {
	var col proto.ColStr
	var all []string
	err := c.Query(ctx, sql, proto.Results{{Name: "n", Data: &col}}, func(rows int) error {
		for i := range rows {
			all = append(all, col.Row(i))
		}
		return nil
	})
	return all, err
}

func (c *Conn) do(ctx context.Context, q ch.Query) error {
	// The client looks at its context between two packets only, and some statements are silent to their end. It would close the connection, too.
	stop := context.AfterFunc(ctx, func() { _ = c.client.Close() })
	defer stop()
	err := c.client.Do(ctx, q)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", summary(q.Body), err)
	}
	return nil
}

// summary shortens a statement for an error message. It never shows a password:
// only the creation of a dictionary holds one, far behind its beginning.
func summary(sql string) string {
	const shown = 80
	if len(sql) <= shown {
		return sql
	}
	return sql[:shown] + "…"
}

// Refused reports whether the engine answered a statement by an error. The
// statement had no effect and the connection goes on.
func Refused(err error) bool { return ch.IsException(err) }

// Code returns the number of the engine's error, 0 if err is none.
func Code(err error) int {
	if e, ok := ch.AsException(err); ok {
		return int(e.Code)
	}
	return 0
}

// notEnoughSpace is the engine's error where it could not even reserve the space for a part.
const notEnoughSpace = 243

// DiskFull reports whether the engine refused a statement because its disk, quota or file size limit is exhausted.
func DiskFull(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return Code(err) == notEnoughSpace || strings.Contains(text, "No space left on device") ||
		strings.Contains(text, "Disk quota exceeded") || strings.Contains(text, "File too large")
}

// MemoryExceeded reports whether the engine refused a statement because it would have taken more memory than it may.
func MemoryExceeded(err error) bool { return ch.IsErr(err, proto.ErrMemoryLimitExceeded) }

// damaged are the engine's errors for files that were cut short, are gone or hold something else. It (26.7) reads how a block is compressed, and how
// large it is, before it compares the block's checksum.
var damaged = []proto.Error{
	proto.ErrUnexpectedEndOfFile, proto.ErrCannotReadAllData, proto.ErrChecksumDoesntMatch, proto.ErrFileDoesntExist,
	proto.ErrCorruptedData, proto.ErrCannotDecompress, proto.ErrUnknownCodec, proto.ErrTooLargeSizeCompressed,
}

// Damaged reports whether the engine refused a statement because files that it needs are cut short or gone, or hold something else.
func Damaged(err error) bool { return ch.IsErr(err, damaged...) }

// Quote quotes an identifier.
func Quote(name string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
}

// Literal quotes a string.
func Literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
