package pgwire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/cursor"
	"github.com/freshet-io/freshet/gateway/datarow"
)

// Analytics decides for and runs the analytical route. Implementations are
// safe for concurrent use. No method keeps a reference to its *SessionInfo
// after returning, except that a [Query] may use it until Run returns. Begin, Plan and Explain may set
// WroteSince; they change nothing else of it.
type Analytics interface {
	// Candidate says by the text alone what a statement is. The session caches
	// the answer by the text with its numeric and string constants left out, so
	// the answer must not depend on those and is asked again when Generation changes.
	Candidate(sql string) Candidate
	// Cursor returns what a FETCH, MOVE or CLOSE says; ok is false for any other text.
	Cursor(sql string) (c cursor.Statement, ok bool)
	// Generation changes when an answer of Candidate may change: a table was added, or its key changed.
	// It also changes before a Plan returns that used another definition of a table or a view than was used before.
	// Whatever PostgreSQL described under an earlier generation is void.
	// Generation is called for every statement, so it should be one atomic load.
	Generation() uint64
	// HiddenEffects says that PostgreSQL may do more than read for a statement whose Candidate says that it only reads.
	HiddenEffects() bool
	// Plan decides the route of one execution. A *RelayError means that PostgreSQL
	// runs it; any other error goes to the client.
	Plan(ctx context.Context, s *SessionInfo, st Statement) (Query, error)
	// Explain answers EXPLAIN (FRESHET) with the lines of its QUERY PLAN column.
	Explain(ctx context.Context, s *SessionInfo, st Statement) ([]string, error)
	// Begin pins one snapshot for a READ ONLY transaction block. It is called before
	// the Plan of the block's first statement that is offered; the Tx is then in
	// SessionInfo.Tx until the block ends. A *RelayError sends the statement to
	// PostgreSQL.
	Begin(ctx context.Context, s *SessionInfo) (Tx, error)
}

// Tx is a snapshot pinned for a READ ONLY transaction block.
type Tx interface {
	// End releases the snapshot. It is called once: at COMMIT, at ROLLBACK, or
	// when the connection ends.
	End()
}

// CandidateKind is what a statement's text makes it.
type CandidateKind uint8

// The kinds of candidate.
const (
	// Relay is a statement for PostgreSQL: a write, a locking read, a
	// utility statement, several statements, or text that does not parse.
	Relay CandidateKind = iota
	// Read is one read-only statement that may run on the columnar replica.
	Read
	// Explain is EXPLAIN (FRESHET …) of one statement.
	Explain
	// Declare is DECLARE … CURSOR FOR one read-only statement that may run on the columnar replica.
	Declare
)

// Candidate is what [Analytics.Candidate] found in a statement's text.
type Candidate struct {
	Kind CandidateKind
	// Point says that a Read, or what is declared, is bound by its table's key: PostgreSQL is the faster store. It is
	// relayed, but for a session that wants the columnar route or holds a columnar snapshot.
	Point bool
	// Inner is the statement inside EXPLAIN (FRESHET …) or DECLARE.
	Inner string
	// Cursor is the name that DECLARE declares, Binary says that its simple queries' rows are in binary format, Holds
	// that it outlives its transaction, and Scroll is SCROLL, NO SCROLL, or empty: PostgreSQL's plan decides.
	Cursor        string
	Binary, Holds bool
	Scroll        string
	// Writes says that the statement may write when PostgreSQL runs it: it
	// modifies data or calls a function that is not known to be free of effects.
	Writes bool
	// SetsSession says that it may change what names or values mean in the
	// session: set_config, or a function that is not known to be free of effects.
	SetsSession bool
	// Parameters says that the statement names some ($1).
	Parameters bool
	// NoData says that the statement reads no table but system catalogs (SELECT 1): PostgreSQL may run it anywhere,
	// also beside a columnar snapshot and under freshet.route = columnar.
	NoData bool
	// Catalogs says that it does so where the search path has nothing before the system catalogs.
	Catalogs bool
	// Reason says why a Relay or a Point is one, for freshet.last_route and for the error
	// under freshet.route = columnar.
	Reason string
}

// Statement is one execution that is offered.
type Statement struct {
	SQL string
	// ParamOIDs are the types of the parameters as PostgreSQL describes them.
	ParamOIDs []uint32
	Params    []Param
	// Fields is PostgreSQL's own description of the result. Format is what
	// PostgreSQL sent (0); the formats asked for are passed to Run.
	Fields []pgproto3.FieldDescription
}

// Param is the value of a parameter as the client bound it.
type Param struct {
	Format int16 // 0 text, 1 binary
	Null   bool
	Value  []byte
}

// ErrRowLimit is what the sink of [Query.Run] returns when the client asked for no more rows: a success that ends the
// query.
var ErrRowLimit = errors.New("the portal's row limit is reached")

// Query is one execution that was planned for the columnar replica.
type Query interface {
	// Run streams the rows and returns their number. formats has one entry per field,
	// 0 for text and 1 for binary; a row has one value per field in that format. A *RelayError before the first row
	// sends the statement to PostgreSQL after all; after the first row it is an error.
	// When sink returns an error Run stops and returns it.
	Run(ctx context.Context, formats []int16, sink func(datarow.Rows) error) (int64, error)
}

// SessionInfo is what the analytical route may know of a session. It is current
// when a method of [Analytics] is called.
type SessionInfo struct {
	ID       uint64 // of the session in this process
	Database string
	// Log is the one that the session's server writes; zero: [Analytics] has not asked yet.
	Log cdc.Log
	// SessionUser authenticated, User is in effect (SET ROLE).
	SessionUser, User string
	ApplicationName   string
	// SearchPath is current_schemas(true): the schemas that exist and that names
	// are looked up in, in order, pg_catalog included, and the temporary schema if anything is in it.
	SearchPath []string
	// TempTables says that the session has temporary relations. Statements of such a session are not offered, nor are
	// they where ClientEncoding is not UTF8 or StandardConformingStrings is off.
	TempTables bool

	TimeZone, DateStyle, IntervalStyle string
	ClientEncoding                     string
	ByteaOutput                        string
	ExtraFloatDigits                   int
	StandardConformingStrings          bool
	// TransformNullEquals says that x = NULL means x IS NULL.
	TransformNullEquals bool
	// ArraysWithoutNulls says that NULL in an array's text is a string (array_nulls = off).
	ArraysWithoutNulls bool
	// StatementTimeout is zero when there is none. The session enforces it itself.
	StatementTimeout time.Duration
	// Isolation is the isolation level of the transaction, as PostgreSQL prints it.
	Isolation string

	Settings Settings
	// Tx is not nil inside a READ ONLY transaction block.
	Tx Tx
	// WroteSince says that the session may have committed a write since its last
	// columnar answer, which the next answer must see.
	WroteSince bool
	// ReadSince says that PostgreSQL ran queries of the session's since then that write nothing as far as their text
	// tells.
	ReadSince bool

	// Ask runs one row-returning statement on the session's own backend, as the session's
	// user, and returns its rows in text format, nil for NULL. It must not change
	// anything. It is valid during Begin, Plan, Explain and Run only. (PostgreSQL does not check
	// privileges when it describes a statement; this is the way to ask it.)
	Ask func(ctx context.Context, sql string) ([][][]byte, error)
	// AskPlan returns PostgreSQL's plan of a statement, as EXPLAIN (FORMAT JSON) prints it; nil where PostgreSQL does
	// not tell. It is valid when Ask is, but nil inside a transaction block: an error would fail that.
	AskPlan func(ctx context.Context, st Statement) ([]byte, error)
	// Record notes how the statement ran, for SHOW freshet.last_route and its like.
	Record func(LastRun)
}

// LastRun is what SHOW freshet.snapshot, freshet.staleness and freshet.last_route
// tell of the session's last statement that was offered.
type LastRun struct {
	Route     string // the name of RouteColumnar or RouteOLTP; empty: none has run
	Reason    string // why that route
	Snapshot  string // position of the snapshot; empty on the oltp route
	Staleness time.Duration
}

// RelayError says that a statement is not for the columnar replica. Under
// freshet.route = auto PostgreSQL runs it; under columnar the client gets it as
// an error 0A000.
type RelayError struct {
	Reason string
	// Code and Hint are for the error that the client sees where relaying is not
	// allowed; Code is 0A000 when empty.
	Code, Hint string
	// Stale says that the session is not what its SessionInfo says any more.
	Stale bool
	Err   error
}

func (e *RelayError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return e.Reason
}

// Unwrap returns the cause, if any.
func (e *RelayError) Unwrap() error { return e.Err }

// Error is an error with what PostgreSQL's ErrorResponse says of one. Errors
// of other types reach the client as XX000.
type Error struct {
	Code     string // SQLSTATE
	Message  string
	Detail   string
	Hint     string
	Position int32 // in characters from 1; 0 when none
	Err      error
	fatal    bool // the session ends with it
}

func (e *Error) Error() string {
	s := e.Message
	if e.Code != "" {
		s += " (SQLSTATE " + e.Code + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Err }

// endsSession reports whether a session ends with an error.
func endsSession(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.fatal
}

// isSQLError reports whether a statement failed in a session that goes on.
func isSQLError(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.fatal
}
