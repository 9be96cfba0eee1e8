package pgwire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// infoColumns are the expressions that info is refreshed from. Everything is schema-qualified:
// the session's search_path is the user's.
var infoColumns = []string{
	"session_user", "current_user", "pg_catalog.current_database()", // CockroachDB has USE
	"pg_catalog.array_to_string(pg_catalog.current_schemas(true), pg_catalog.chr(1))",
	"EXISTS (SELECT 1 FROM pg_catalog.pg_class c WHERE c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema())",
	setting("TimeZone"), setting("DateStyle"), setting("IntervalStyle"), setting("client_encoding"), setting("bytea_output"),
	setting("extra_float_digits"), setting("standard_conforming_strings"), custom("transform_null_equals"), custom("array_nulls"), setting("statement_timeout"),
	custom("idle_session_timeout"), custom("idle_in_transaction_session_timeout"), custom("transaction_timeout"),
	setting("application_name"), setting("transaction_isolation"), setting("transaction_read_only"),
	custom(settingFreshness), custom(settingMaxStaleness), custom(settingMinSnapshot), custom(settingRoute),
}

var infoSQL = "SELECT " + strings.Join(infoColumns, ", ")

func setting(name string) string { return "pg_catalog.current_setting('" + name + "')" }

// custom reads a setting that the server may not know.
func custom(name string) string { return "pg_catalog.current_setting('" + name + "', true)" }

// takeInfo refreshes info from the row that infoSQL yields, for which PostgreSQL was asked at the given time. PostgreSQL keeps the freshet.*
// settings like any other, so that rollback, SET LOCAL, RESET and ALTER ROLE … SET mean what they mean for PostgreSQL's own.
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
	for n := range s.held {
		s.held[n] = text()
	}
	s.settle()
	s.wantsColumnar = i.Settings.Route == RouteColumnar
	s.stale, s.infoAt = false, asked
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

// settle computes the settings in force: what PostgreSQL holds for the session, over the defaults as they are now.
func (s *session) settle() {
	s.info.Settings, s.invalid = s.defaults(), nil
	for n, name := range ownSettings {
		if s.held[n] == s.told[n] {
			continue
		}
		if err := s.info.Settings.set(name, s.held[n]); err != nil && s.invalid == nil {
			s.invalid = err
		}
	}
}

// defaults are the settings of this session's user where it sets none.
func (s *session) defaults() Settings {
	d := s.srv.cfg.Defaults
	if of := s.srv.cfg.DefaultsOf; of != nil {
		d = of(s.info.SessionUser, d)
	}
	return d
}

// block is what is known of the open transaction block.
type block struct {
	open          bool // by a BEGIN that was relayed
	wrote         bool // its transaction may have written, also where it is READ ONLY by now
	mayBeReadOnly bool // worth asking PostgreSQL
	known         bool // readOnly and info.Isolation are
	readOnly      bool
	bound         bool // PostgreSQL may have portals
	oltp          bool // a statement that reads tables ran on PostgreSQL
	// columnar says that the block's snapshot is a columnar one, and that its isolation
	// level forbids to read from another.
	columnar bool
	// portals are results from the replica that the client may read on, by name.
	portals map[string]*portal
}

// mayRead reports whether the open block may yet begin to read from a columnar snapshot by a statement of the class.
func (s *session) mayRead(c *class) bool {
	b := &s.block
	return (c.Kind == Read || c.Kind == Declare || s.ofCursors(c)) && b.open && b.mayBeReadOnly && !b.oltp && !b.wrote
}

// noteRelayed keeps account of what a statement may change when PostgreSQL runs it.
func (s *session) noteRelayed(c *class) {
	s.maySet = s.maySet || c.SetsSession || c.Writes || c.ends && s.blockSets
	switch {
	case c.Writes:
		s.info.WroteSince, s.unsure = true, true
		s.block.wrote = s.block.wrote || !s.block.known || !s.block.readOnly
	case isQuery(c.word):
		s.info.ReadSince = true
	}
	if c.forgets {
		s.statements.clear()
	}
	if c.defines {
		s.defines.Store(true)
	}
	if c.SetsSession {
		s.expire()
		s.disown(c)
		s.blockSets, s.block.mayBeReadOnly, s.block.known = true, true, false
	}
	if c.begins && s.block.open { // PostgreSQL warns and takes its modes for the block that there is
		s.block.mayBeReadOnly, s.block.known = s.block.mayBeReadOnly || c.readOnly, false
		return
	}
	if c.begins || c.ends {
		s.endTx()
		s.leaveBlock()
		if s.blockSets { // a rollback, or the end of SET LOCAL
			s.expire()
			if c.ends {
				clear(s.told[:])
			}
			s.blockSets = !c.begins && c.SetsSession
		}
		s.block = block{open: c.begins, wrote: c.Writes,
			mayBeReadOnly: c.readOnly || c.begins && s.parameter("default_transaction_read_only") == "on"}
	}
	if c.word == "rollback" {
		s.doubtCursors()
	}
	if c.data {
		s.block.oltp = true
		s.leaveCursors()
		if c.Reason != "" && c.Kind == Relay && isQuery(c.word) {
			s.last = LastRun{Route: "oltp", Reason: c.Reason}
		}
	}
}

// leaveBlock forgets what info says of a block's own isolation.
func (s *session) leaveBlock() {
	s.stale = s.stale || s.block.open && s.block.known
	s.dropPortals()
	s.block = block{}
}

// expire makes the next offer refresh what the session knows of itself.
func (s *session) expire() {
	s.stale = true
	s.expireDescriptions()
}

// expireDescriptions makes the next offer have its statement described anew.
func (s *session) expireDescriptions() {
	s.expiries++
	clear(s.described)
}

// tellSQL is the statement that makes PostgreSQL know the values of the freshet.* settings that sql names: defaults where the session
// set none, and how its last statement ran. Its row has what was told of ownSettings, in their order, after a first column.
func (s *session) tellSQL(sql string) string {
	var b strings.Builder
	d := s.defaults()
	minimum := ""
	if !d.MinSnapshot.IsZero() {
		minimum = d.MinSnapshot.String()
	}
	b.WriteString("SELECT 1")
	low := strings.ToLower(sql)
	for n, value := range [len(ownSettings)]string{d.Freshness.String(), d.MaxStaleness.String(), minimum, d.Route.String()} {
		name := ownSettings[n]
		if !strings.Contains(low, name) {
			b.WriteString(", NULL")
			continue
		}
		fmt.Fprintf(&b, ", CASE WHEN coalesce(%s, '') OPERATOR(pg_catalog.=) ANY (ARRAY['',%s]) THEN pg_catalog.set_config(%s, %s, false) END",
			custom(name), Quote(s.told[n]), Quote(name), Quote(value))
	}
	staleness := ""
	if s.last.Snapshot != "" {
		staleness = s.last.Staleness.String()
	}
	for _, p := range [][2]string{{settingSnapshot, s.last.Snapshot}, {settingStaleness, staleness},
		{settingLastRoute, s.last.Route}, {settingLastReason, s.last.Reason}} {
		fmt.Fprintf(&b, ", pg_catalog.set_config(%s, %s, false)", Quote(p[0]), Quote(p[1]))
	}
	return b.String()
}

// disown takes what PostgreSQL was told for the session's own, as far as a statement may have set it: to what happened to be the
// default, perhaps.
func (s *session) disown(c *class) {
	n := slices.Index(ownSettings[:], c.setting)
	switch {
	case n >= 0:
		s.told[n] = ""
	case c.word == "set" && !c.freshet:
	default:
		clear(s.told[:])
	}
}

// noteTold remembers which defaults PostgreSQL was told: they are no settings of the session's own, and follow the defaults.
func (s *session) noteTold(rows [][][]byte) {
	if len(rows) != 1 || len(rows[0]) <= len(ownSettings) {
		return
	}
	for n := range s.told {
		if value := rows[0][1+n]; value != nil {
			s.told[n], s.held[n] = string(value), string(value)
		}
	}
}

// Quote makes a string literal that means the same whatever standard_conforming_strings is.
func Quote(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	return ` E'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + `'`
}
