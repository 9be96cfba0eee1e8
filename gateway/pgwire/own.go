package pgwire

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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

// noteTold remembers which defaults PostgreSQL was told by the statement of tellSQL.
func (o *ownValues) noteTold(rows [][][]byte) {
	if len(rows) != 1 || len(rows[0]) <= len(ownSettings) {
		return
	}
	for n := range o.told {
		if value := rows[0][1+n]; value != nil {
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
			custom(name), Quote(s.own.told[n]), Quote(name), Quote(value))
	}
	staleness := ""
	if s.last.Snapshot != "" {
		staleness = s.last.Staleness.String()
	}
	for _, p := range [][2]string{{settingSnapshot, s.last.Snapshot}, {settingStaleness, staleness},
		{settingLastRoute, s.last.Route}, {settingLastReason, s.encodable(s.last.Reason)}} {
		fmt.Fprintf(&b, ", pg_catalog.set_config(%s, %s, false)", Quote(p[0]), Quote(p[1]))
	}
	return b.String()
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
