package cockroachdb

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

var errHLC = errors.New("not a timestamp of wall nanoseconds, a dot and logical time")

// logicalDigits is how many digits the logical part is written with.
const logicalDigits = 10

// parseHLC reads a timestamp as changefeeds and cluster_logical_timestamp() write it: "1763632800123456789.0000000002".
func parseHLC[T ~string | ~[]byte](text T) (cdc.Position, error) {
	wall, logical, dotted := bytes.Cut([]byte(text), []byte{'.'})
	major, ok := parseDigits(wall, 19)
	if !ok || major > math.MaxInt64 {
		return cdc.Position{}, errHLC
	}
	if !dotted {
		return cdc.Position{Major: major}, nil
	}
	if len(logical) != logicalDigits {
		return cdc.Position{}, errHLC
	}
	minor, ok := parseDigits(logical, logicalDigits)
	if !ok || minor > math.MaxInt32 {
		return cdc.Position{}, errHLC
	}
	return cdc.Position{Major: major, Minor: uint32(minor)}, nil
}

// parseDigits reads a number of 1 to most digits.
func parseDigits(b []byte, most int) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > most {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// formatHLC prints a position as CockroachDB does.
func formatHLC(p cdc.Position) string { return string(appendHLC(nil, p)) }

func appendHLC(b []byte, p cdc.Position) []byte {
	b = strconv.AppendUint(b, p.Major, 10)
	b = append(b, '.')
	logical := strconv.AppendUint(nil, uint64(p.Minor), 10)
	for range logicalDigits - len(logical) {
		b = append(b, '0')
	}
	return append(b, logical...)
}

// hlcTime is the wall time of a position, by the cluster's clocks.
func hlcTime(p cdc.Position) time.Time { return time.Unix(0, int64(p.Major)) }
