package freshness

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Mode is a freshness mode. The zero Mode is Bounded.
type Mode uint8

// The modes.
const (
	Bounded Mode = iota
	Strong
	Eventual
)

// DefaultMaxStaleness is the bound of [Bounded] where nothing else is set.
const DefaultMaxStaleness = time.Second

// ModeNames are the names that [ParseMode] accepts.
const ModeNames = "bounded, strong, eventual"

// String returns the mode's name as a setting.
func (m Mode) String() string {
	switch m {
	case Strong:
		return "strong"
	case Eventual:
		return "eventual"
	default:
		return "bounded"
	}
}

// ParseMode reads the name of a mode, in any case.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{Bounded, Strong, Eventual} {
		if strings.EqualFold(strings.TrimSpace(s), m.String()) {
			return m, nil
		}
	}
	return Bounded, fmt.Errorf("freshness mode %q is not one of %s", s, ModeNames)
}

// ParseStaleness reads a duration as PostgreSQL reads its time settings: a
// number with a unit us, ms, s, min, h or d; a bare number is milliseconds. It must be positive.
func ParseStaleness(s string) (time.Duration, error) {
	t := strings.TrimSpace(s)
	i := strings.IndexFunc(t, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	number, unit := t, "ms"
	if i >= 0 {
		number, unit = t[:i], strings.TrimSpace(t[i:])
	}
	units := map[string]time.Duration{
		"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
		"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
	scale, known := units[unit]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !known {
		return 0, fmt.Errorf("staleness %q is not a duration: write a number with a unit us, ms, s, min, h or d, such as '500ms'", s)
	}
	d := v * float64(scale)
	if d < 1 || d > float64(1<<62) {
		return 0, fmt.Errorf("staleness %q is out of range: it must be positive and less than 146 years", s)
	}
	return time.Duration(d), nil
}

// Requirement is how fresh one query's snapshot must be.
type Requirement struct {
	Mode Mode
	// MaxStaleness is the bound of Bounded; zero means [DefaultMaxStaleness]. The other modes ignore it.
	MaxStaleness time.Duration
	// Min is the position that the snapshot must have reached; zero: any.
	Min cdc.Position
	// OwnWrites says that the session may have committed a write that no snapshot of its has been required to show yet.
	OwnWrites bool
}

// Bound is the greatest staleness allowed at the query's start; zero: any.
func (r Requirement) Bound() time.Duration {
	if r.Mode != Bounded {
		return 0
	}
	if r.MaxStaleness == 0 {
		return DefaultMaxStaleness
	}
	return r.MaxStaleness
}
