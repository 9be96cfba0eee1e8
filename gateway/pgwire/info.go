package pgwire

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// infoColumns are the expressions that info is refreshed from. Everything is schema-qualified:
// the session's search_path is the user's.
var infoColumns = []string{
	"session_user", "current_user", "pg_catalog.current_database()", // CockroachDB has USE
	pathStart + hasTemp + pathEnd, hasTemp,
	setting("TimeZone"), setting("DateStyle"), setting("IntervalStyle"), setting("client_encoding"), setting("bytea_output"),
	setting("extra_float_digits"), setting("standard_conforming_strings"), custom("transform_null_equals"), custom("array_nulls"), setting("statement_timeout"),
	custom("idle_session_timeout"), custom("idle_in_transaction_session_timeout"), custom("transaction_timeout"),
	setting("application_name"), setting("transaction_isolation"), setting("transaction_read_only"),
	custom(settingFreshness), custom(settingMaxStaleness), custom(settingMinSnapshot), custom(settingRoute),
}

// hasTempSQL tells whether the session's temporary schema, which remains until the session ends, has anything that
// names may mean.
const hasTempSQL = `pg_catalog.pg_my_temp_schema() OPERATOR(pg_catalog.<>) 0
 AND (EXISTS (SELECT 1 FROM pg_catalog.pg_class c WHERE c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema())
  OR EXISTS (SELECT 1 FROM pg_catalog.pg_type t WHERE t.typnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()))`

// hasTemp is what hasTempSQL yielded, in infoSQL.
const hasTemp = "temporary.named"

// PathSQL is an expression for the schemas that names are looked up in, divided by chr(1): [SessionInfo.SearchPath].
const PathSQL = pathStart + hasTempSQL + pathEnd

// What stands around hasTempSQL in PathSQL.
const (
	pathStart = `pg_catalog.array_to_string(CASE WHEN pg_catalog.pg_my_temp_schema() OPERATOR(pg_catalog.=) 0 OR `
	pathEnd   = ` THEN pg_catalog.current_schemas(true)
 ELSE pg_catalog.array_remove(pg_catalog.current_schemas(true), (SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.oid OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema())) END, pg_catalog.chr(1))`
)

// infoSQL asks for infoColumns. OFFSET 0 keeps the planner from computing hasTempSQL, which two of them read, for each.
var infoSQL = "SELECT " + strings.Join(infoColumns, ", ") + " FROM (SELECT " + hasTempSQL + " AS named OFFSET 0) AS temporary"

func setting(name string) string { return "pg_catalog.current_setting('" + name + "')" }

// custom reads a setting that the server may not know.
func custom(name string) string { return "pg_catalog.current_setting('" + name + "', true)" }

// takeInfo refreshes info from the row that infoSQL yields, for which PostgreSQL was asked at the given time.
func (s *session) takeInfo(rows [][][]byte, asked time.Time) error {
	if len(rows) != 1 || len(rows[0]) != len(infoColumns) {
		return fmt.Errorf("refresh the session's settings: unexpected answer of %d rows", len(rows))
	}
	next := 0
	text := func() string {
		v := string(rows[0][next])
		next++
		return v
	}
	i := &s.info
	i.SessionUser, i.User, i.Database = text(), text(), text()
	i.SearchPath = strings.Split(text(), "\x01")
	i.TempTables = text() == "t"
	i.TimeZone, i.DateStyle, i.IntervalStyle, i.ClientEncoding, i.ByteaOutput = text(), text(), text(), text(), text()
	digits, err := strconv.Atoi(text())
	if err != nil {
		return fmt.Errorf("refresh the session's settings: extra_float_digits: %w", err)
	}
	i.ExtraFloatDigits = digits
	i.StandardConformingStrings = text() == "on"
	i.TransformNullEquals = text() == "on"
	i.ArraysWithoutNulls = text() == "off"
	if i.StatementTimeout, err = parseDuration(text()); err != nil {
		return fmt.Errorf("refresh the session's settings: statement_timeout: %w", err)
	}
	for _, timeout := range []*time.Duration{&s.timeouts.idle, &s.timeouts.idleInTransaction, &s.timeouts.transaction} {
		*timeout = 0
		if v := text(); v != "" {
			if *timeout, err = parseDuration(v); err != nil {
				return fmt.Errorf("refresh the session's settings: timeouts that end a session: %w", err)
			}
		}
	}
	i.ApplicationName, i.Isolation = text(), text()
	if i.Isolation == "read uncommitted" { // which PostgreSQL has by name only
		i.Isolation = readCommitted
	}
	s.block.readOnly = text() == "on"
	s.block.known = true
	for n := range s.own.held {
		s.own.held[n] = text()
	}
	s.settle()
	s.wantsColumnar = i.Settings.Route == RouteColumnar
	s.validity.refreshed(asked)
	return nil
}

// meaning is the settings by which a statement's names and constants are read, and its values are written.
type meaning struct {
	reading
	user, searchPath, byteaOutput           string
	extraFloatDigits                        int
	transformNullEquals, arraysWithoutNulls bool
}

func (i *SessionInfo) meaning() meaning {
	return meaning{reading: reading{i.TimeZone, i.DateStyle, i.IntervalStyle}, user: i.User, searchPath: strings.Join(i.SearchPath, "\x01"),
		byteaOutput: i.ByteaOutput, extraFloatDigits: i.ExtraFloatDigits,
		transformNullEquals: i.TransformNullEquals, arraysWithoutNulls: i.ArraysWithoutNulls}
}

// means reports whether the session's settings are yet those of a portal. The backend must be held.
func (s *session) means(p *portal) (bool, error) {
	if s.expiries == p.expiries && s.reading() == p.meaning.reading {
		return true, nil
	}
	expiries, asked := s.expiries, s.srv.cfg.Now()
	rows, err := s.ask(s.ctx, infoSQL)
	if err == nil {
		err = s.takeInfo(rows, asked)
	}
	if err != nil {
		return false, err
	}
	if s.info.meaning() != p.meaning {
		return false, nil
	}
	p.expiries = expiries
	return true, nil
}

// expire makes the next offer refresh what the session knows of itself.
func (s *session) expire() {
	s.validity.stale = true
	s.expireDescriptions()
}

// expireDescriptions makes the next offer have its statement described anew.
func (s *session) expireDescriptions() {
	s.expiries++
	clear(s.described)
}
