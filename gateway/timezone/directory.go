package timezone

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// Source is the source database.
type Source interface {
	// Zone returns the offsets of a zone over its span (see [cdc.Offset]), in order; nil where it does not tell.
	Zone(ctx context.Context, name string) ([]cdc.Offset, error)
}

// Engine runs a statement, see [github.com/freshet-io/freshet/gateway/engine.Client.Query].
type Engine interface {
	Query(ctx context.Context, sql string, settings map[string]string, result proto.Results, onBlock func(rows int) error, onCPU func(time.Duration)) error
}

// Directory keeps the zones that were asked for. It is safe for concurrent use.
type Directory struct {
	source Source
	engine Engine
	clock  func() time.Time
	zones  *lru.Cache[string, known]
}

type known struct {
	zone *Zone
	at   time.Time
}

// A server gets new rules with an update of its system. What is known here is asked for again after an hour.
const (
	mostZones = 64
	zoneLife  = time.Hour
)

// NewDirectory returns an empty directory.
func NewDirectory(source Source, engine Engine, clock func() time.Time) (*Directory, error) {
	zones, err := lru.New[string, known](mostZones)
	if err != nil {
		return nil, fmt.Errorf("make cache of time zones: %w", err)
	}
	return &Directory{source: source, engine: engine, clock: clock, zones: zones}, nil
}

// Find returns a zone by the name that the source has for it; nil if it has none.
func (d *Directory) Find(ctx context.Context, name string) (*Zone, error) {
	if k, ok := d.zones.Get(name); ok && d.clock().Sub(k.at) < zoneLife {
		return k.zone, nil
	}
	offsets, err := d.source.Zone(ctx, name)
	if err != nil || len(offsets) == 0 {
		return nil, err
	}
	z := New(name, offsets, false)
	if z.Engine, err = d.engineAgrees(ctx, z); err != nil {
		return nil, fmt.Errorf("compare time zone %q with the engine's: %w", name, err)
	}
	d.zones.Add(name, known{z, d.clock()})
	return z, nil
}

// engineAgrees compares the engine's offsets of every day, and before and after every change.
func (d *Directory) engineAgrees(ctx context.Context, z *Zone) (bool, error) {
	var changes []string
	for _, o := range z.offsets[1:] {
		changes = append(changes, fmt.Sprint(o.From-1), fmt.Sprint(o.From))
	}
	sql := fmt.Sprintf("SELECT t, timeZoneOffset(toDateTime(t, %s)) AS o FROM (SELECT arrayJoin(arrayConcat(range(toUInt32(%d), toUInt32(%d), 86400), CAST([%s], 'Array(UInt32)'))) AS t)",
		engine.Literal(z.Name), cdc.FirstOffset, cdc.LastOffset, strings.Join(changes, ","))
	var instants proto.ColUInt32
	var offsets proto.ColInt32
	agrees := true
	err := d.engine.Query(ctx, sql, nil, proto.Results{{Name: "t", Data: &instants}, {Name: "o", Data: &offsets}}, func(rows int) error {
		for i := range rows {
			want, ok := z.Offset(int64(instants.Row(i)))
			agrees = agrees && ok && int64(offsets.Row(i)) == want
		}
		return nil
	}, nil)
	if ch.IsException(err) { // a name that the engine does not know
		return false, nil
	}
	return agrees, err
}
