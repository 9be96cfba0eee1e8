package pgwire

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/freshness"
)

// Route is the user's choice of where reads run.
type Route uint8

// The values of freshet.route.
const (
	// RouteAuto lets the gateway choose.
	RouteAuto Route = iota
	// RouteOLTP sends everything to PostgreSQL.
	RouteOLTP
	// RouteColumnar makes a read that cannot run on the columnar replica an error.
	RouteColumnar
)

// Otherwise is the route of a read that cannot run on the columnar replica, for EXPLAIN (FRESHET).
func (r Route) Otherwise() string {
	if r == RouteColumnar {
		return "none, as freshet.route is columnar"
	}
	return RouteOLTP.String()
}

// The names of the settings. The first four can be set; the last four report.
const (
	settingFreshness    = "freshet.freshness"
	settingMaxStaleness = "freshet.max_staleness"
	settingMinSnapshot  = "freshet.min_snapshot"
	settingRoute        = "freshet.route"
	settingSnapshot     = "freshet.snapshot"
	settingStaleness    = "freshet.staleness"
	settingLastRoute    = "freshet.last_route"
	settingLastReason   = "freshet.last_reason"
)

// ownSettings are those that can be set.
var ownSettings = [...]string{settingFreshness, settingMaxStaleness, settingMinSnapshot, settingRoute}

var routeNames = []string{RouteAuto: "auto", RouteOLTP: "oltp", RouteColumnar: "columnar"}

// String returns the setting's value as the user writes it.
func (r Route) String() string { return routeNames[r] }

// Settings are the session's freshet.* settings.
type Settings struct {
	Freshness freshness.Mode
	// MaxStaleness bounds the age of a bounded answer's snapshot; zero: it may lack nothing, as under strong.
	MaxStaleness time.Duration
	// MinSnapshot is a position that the snapshot must have reached, whatever the
	// mode; zero when there is none.
	MinSnapshot cdc.Position
	Route       Route
}

// DefaultSettings are those of a session where nothing is set.
func DefaultSettings() Settings { return Settings{MaxStaleness: freshness.DefaultMaxStaleness} }

// set parses value for the setting called name, which is in lower case. An empty value
// leaves the default: it is what PostgreSQL keeps after RESET of a custom setting.
func (s *Settings) set(name, value string) error {
	if value == "" {
		return nil
	}
	switch name {
	case settingFreshness:
		mode, err := freshness.ParseMode(strings.ToLower(value))
		if err != nil {
			return &Error{Code: codeInvalidParameter, Message: invalidValue(name, value), Hint: "Available values: bounded, strong, eventual."}
		}
		s.Freshness = mode
		return nil
	case settingRoute:
		i := slices.Index(routeNames, strings.ToLower(value))
		if i < 0 {
			return &Error{Code: codeInvalidParameter, Message: invalidValue(name, value), Hint: "Available values: " + strings.Join(routeNames, ", ") + "."}
		}
		s.Route = Route(i)
		return nil
	case settingMaxStaleness:
		d, err := parseDuration(value)
		if err != nil {
			return &Error{Code: codeInvalidParameter, Message: invalidValue(name, value),
				Hint: `Valid values are durations from 0 to 24 days, such as "500ms", "2 s" or "1min"; a number without a unit is in milliseconds.`}
		}
		s.MaxStaleness = d
		return nil
	case settingMinSnapshot:
		p, err := cdc.ParsePosition(value)
		if err != nil {
			return &Error{Code: codeInvalidParameter, Message: invalidValue(name, value),
				Hint: `Valid values are positions as SHOW freshet.snapshot prints them, such as "16/B374D848", or '' for none.`}
		}
		s.MinSnapshot = p
		return nil
	case settingSnapshot, settingStaleness, settingLastRoute, settingLastReason:
		return &Error{Code: codeCantChangeParameter, Message: fmt.Sprintf("parameter %q cannot be changed", name),
			Hint: "It reports how the session's last analytical statement ran."}
	}
	return &Error{Code: codeUndefinedObject, Message: fmt.Sprintf("unrecognized configuration parameter %q", name),
		Hint: "Available settings: freshet.freshness, freshet.max_staleness, freshet.min_snapshot, freshet.route."}
}

func invalidValue(name, value string) string {
	return fmt.Sprintf("invalid value for parameter %q: %q", name, value)
}

// maxDuration is what PostgreSQL allows for a setting in milliseconds.
const maxDuration = (1<<31 - 1) * time.Millisecond

// units are those of PostgreSQL's settings, the longest first.
var units = []struct {
	name   string
	length time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}}

// parseDuration reads a duration as PostgreSQL's settings are written: a number
// with a unit of us, ms, s, min, h or d, and milliseconds without.
func parseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	end := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return 0, fmt.Errorf("parse duration %q: %w", text, err)
	}
	name := cmp.Or(strings.TrimSpace(text[end:]), "ms")
	for _, unit := range units {
		if unit.name != name {
			continue
		}
		d := n * float64(unit.length)
		if !(d >= 0 && d <= float64(maxDuration)) {
			return 0, fmt.Errorf("parse duration %q: out of range", text)
		}
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("parse duration %q: unknown unit", text)
}

// durationText writes a duration, of whole microseconds, as [parseDuration] reads it; one that is too long for that as the longest that is not.
func durationText(d time.Duration) string {
	d = min(d, maxDuration)
	if d == 0 {
		return "0"
	}
	unit := units[len(units)-1]
	for _, longer := range units {
		if d%longer.length == 0 {
			unit = longer
			break
		}
	}
	return strconv.FormatInt(int64(d/unit.length), 10) + unit.name
}
