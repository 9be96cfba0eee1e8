package freshness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Mode is a freshness mode. The zero Mode is Bounded.
type Mode uint8

// The modes.
const (
	// Bounded answers are no older than a bound.
	Bounded Mode = iota
	// Strong answers see every transaction that committed before the query began.
	Strong
	// Eventual answers come from the newest snapshot there is, however old.
	Eventual
)

// DefaultMaxStaleness is the bound of [Bounded] where none is set: a gateway's default, which a tenant's and a
// session's go over.
const DefaultMaxStaleness = time.Second

var modeNames = []string{Bounded: "bounded", Strong: "strong", Eventual: "eventual"}

// String returns the mode's name as a setting.
func (m Mode) String() string { return modeNames[m] }

// ParseMode returns the mode of a name.
func ParseMode(name string) (Mode, error) {
	i := slices.Index(modeNames, name)
	if i < 0 {
		return Bounded, fmt.Errorf("%q is none of %s", name, strings.Join(modeNames, ", "))
	}
	return Mode(i), nil
}

// Requirement is how fresh one query's snapshot must be. [Require] makes one of settings.
type Requirement struct {
	Mode Mode
	// MaxStaleness is the bound of Bounded, and positive there. The other modes ignore it.
	MaxStaleness time.Duration
	// Min is the position that the snapshot must have reached; zero: any.
	Min cdc.Position
	// OwnWrites says that the session may have committed a write that no snapshot of its has been required to show yet.
	OwnWrites bool
}

// Require is what a mode and its bound ask. A bound of zero asks that nothing be missing: that is Strong.
func Require(m Mode, bound time.Duration) Requirement {
	if m == Bounded && bound == 0 {
		m = Strong
	}
	return Requirement{Mode: m, MaxStaleness: bound}
}

// Bound is the greatest staleness allowed at the query's start; zero: any.
func (r Requirement) Bound() time.Duration {
	if r.Mode != Bounded {
		return 0
	}
	return r.MaxStaleness
}

// Waits reports whether there is a position to be waited for, the source's own or another.
func (r Requirement) Waits() bool { return !r.Min.IsZero() || r.asksSource() }

// asksSource reports whether nothing may be missing that the source has.
func (r Requirement) asksSource() bool { return r.Mode == Strong || r.OwnWrites && r.Mode != Eventual }
