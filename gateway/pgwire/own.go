package pgwire

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
)

// ownValues are the values of ownSettings that PostgreSQL keeps for the session, like any other setting's: so that
// rollback, SET LOCAL, RESET and ALTER ROLE … SET mean what they mean for PostgreSQL's own.
type ownValues struct {
	held [len(ownSettings)]string
	// told are those that are defaults which PostgreSQL was told: they are no settings of the session's own, and follow
	// the defaults.
	told [len(ownSettings)]string
}

// over yields the settings in force, and the error of the first value that is invalid: what the session has set, over
// the defaults as they are now.
func (o *ownValues) over(defaults Settings) (Settings, error) {
	inForce := defaults
	var invalid error
	for n, name := range ownSettings {
		if o.held[n] == o.told[n] {
			continue
		}
		if err := inForce.set(name, o.held[n]); err != nil && invalid == nil {
			invalid = err
		}
	}
	return inForce, invalid
}

// noteTold remembers the defaults that PostgreSQL was told, by the numbers of their settings; nil: it was not told that.
func (o *ownValues) noteTold(values [][]byte) {
	for n, value := range values {
		if value != nil {
			o.told[n], o.held[n] = string(value), string(value)
		}
	}
}

// disown takes what PostgreSQL was told for the session's own, as far as a statement may have set it: to what happened
// to be the default, perhaps.
func (o *ownValues) disown(c *class) {
	n := slices.Index(ownSettings[:], c.setting)
	switch {
	case n >= 0:
		o.told[n] = ""
	case c.word == "set" && !c.freshet:
	default:
		clear(o.told[:])
	}
}

// settle computes the settings in force.
func (s *session) settle() { s.info.Settings, s.invalid = s.own.over(s.defaults()) }

// defaults are the settings of this session's user where it sets none.
func (s *session) defaults() Settings {
	d := *s.srv.cfg.Defaults
	if of := s.srv.cfg.DefaultsOf; of != nil {
		d = of(s.info.SessionUser, d)
	}
	return d
}

// tellSQL is the statement that makes PostgreSQL know the values of the freshet.* settings that sql names: defaults
// where the session set none, and how its last statement ran. Its row has what was told of ownSettings, in their order,
// after a first column.
func (s *session) tellSQL(sql string) string {
	var b strings.Builder
	b.WriteString("SELECT 1")
	defaults, named := s.defaultValues(), namedSettings(sql)
	for n, name := range ownSettings {
		if !slices.Contains(named, n) {
			b.WriteString(", NULL")
			continue
		}
		fmt.Fprintf(&b, ", CASE WHEN coalesce(%s, '') OPERATOR(pg_catalog.=) ANY (ARRAY['',%s]) THEN pg_catalog.set_config(%s, %s, false) END",
			custom(name), Quote(s.own.told[n]), Quote(name), Quote(defaults[n]))
	}
	for _, p := range s.reports() {
		fmt.Fprintf(&b, ", pg_catalog.set_config(%s, %s, false)", Quote(p[0]), Quote(p[1]))
	}
	return b.String()
}

// namedSettings are those of ownSettings that sql names, by number.
func namedSettings(sql string) (named []int) {
	low := strings.ToLower(sql)
	for n, name := range ownSettings {
		if strings.Contains(low, name) {
			named = append(named, n)
		}
	}
	return named
}

// defaultValues are the values of ownSettings where the session sets none, in the notation of a session's own.
func (s *session) defaultValues() [len(ownSettings)]string {
	d := s.defaults()
	minimum := ""
	if !d.MinSnapshot.IsZero() {
		minimum = d.MinSnapshot.String()
	}
	return [len(ownSettings)]string{d.Freshness.String(), durationText(d.MaxStaleness), minimum, d.Route.String()}
}

// reports are the settings that report how the session's last statement ran, with their values.
func (s *session) reports() [][2]string {
	staleness := ""
	if s.last.Snapshot != "" {
		staleness = s.last.Staleness.String()
	}
	return [][2]string{{settingSnapshot, s.last.Snapshot}, {settingStaleness, staleness},
		{settingLastRoute, s.last.Route}, {settingLastReason, s.encodable(s.last.Reason)}}
}

// tellOutside makes PostgreSQL know the values outside of a block.
func (s *session) tellOutside(sql string) error {
	rows, err := s.ask(s.ctx, s.tellSQL(sql))
	if err == nil && len(rows) == 1 && len(rows[0]) > len(ownSettings) {
		s.own.noteTold(rows[0][1 : 1+len(ownSettings)])
	}
	return err
}

// tellWithin is tellOutside for an open block, in which SHOW takes no snapshot: a client may choose the block's isolation
// after it. So only statements that take none are run, of which none reads a setting that may not exist.
func (s *session) tellWithin(sql string) error {
	told, err := s.defaultsToTell(namedSettings(sql))
	if err != nil {
		return err
	}
	var request []byte
	set := func(name, value string) {
		request = executeRequest(request, "SET "+name+" ="+Quote(value), nil, pgproto3.Bind{})
	}
	for n, value := range told {
		if value != nil {
			set(ownSettings[n], string(value))
		}
	}
	for _, p := range s.reports() {
		set(p[0], p[1])
	}
	if _, err := s.askBy(s.ctx, encode(request, &pgproto3.Sync{})); err != nil {
		return err
	}
	s.own.noteTold(told)
	return nil
}

// defaultsToTell returns the defaults of those of the given settings that the session has not set, by the numbers of
// ownSettings. The open block has them read by SHOW, and made to exist before: that outlasts a rollback.
func (s *session) defaultsToTell(settings []int) ([][]byte, error) {
	if len(settings) == 0 {
		return nil, nil
	}
	const savepoint = `SAVEPOINT "freshet"`
	statements := []string{savepoint}
	for _, n := range settings {
		statements = append(statements, "SET LOCAL "+ownSettings[n]+" = ''")
	}
	statements = append(statements, "ROLLBACK TO "+savepoint, "RELEASE "+savepoint)
	for _, n := range settings {
		statements = append(statements, "SHOW "+ownSettings[n])
	}
	var request []byte
	for _, sql := range statements {
		request = executeRequest(request, sql, nil, pgproto3.Bind{})
	}
	rows, err := s.askBy(s.ctx, encode(request, &pgproto3.Sync{}))
	if err != nil {
		return nil, err
	}
	if len(rows) != len(settings) {
		return nil, fmt.Errorf("read the session's settings: unexpected answer of %d rows", len(rows))
	}
	defaults, told := s.defaultValues(), make([][]byte, len(ownSettings))
	for i, n := range settings {
		if held := string(rows[i][0]); held == "" || held == s.own.told[n] {
			told[n] = []byte(defaults[n])
		}
	}
	return told, nil
}

// encodable returns a reason as PostgreSQL can read and return it under any client_encoding.
func (s *session) encodable(reason string) string {
	if !s.foreignEncoding() {
		return reason
	}
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, reason)
}

// Quote makes a string literal that means the same whatever standard_conforming_strings and backslash_quote are.
func Quote(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	return ` E'` + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + `'`
}
