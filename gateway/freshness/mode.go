package freshness

import (
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
