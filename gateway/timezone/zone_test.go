package timezone_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/timezone"
)

// counted counts the questions to a source.
type counted struct {
	timezone.Source
	asked int
}

func (c *counted) Zone(ctx context.Context, name string) ([]cdc.Offset, error) {
	c.asked++
	return c.Source.Zone(ctx, name)
}

type world struct {
	source    *counted
	directory *timezone.Directory
	postgres  *pgx.Conn
	now       time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server, columnar := stand.Postgres(t), stand.Engine(t)
	source, err := postgres.New(postgres.Config{URL: server.URL("postgres"), Slot: "freshet", Include: []string{"*.*"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	client, err := engine.Open(t.Context(), engine.Config{Addr: columnar.TCPAddr(), Database: "default", User: columnar.User, Password: columnar.Password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w := &world{source: &counted{Source: source}, now: time.Unix(1_000_000_000, 0)}
	if w.directory, err = timezone.NewDirectory(w.source, client, func() time.Time { return w.now }); err != nil {
		t.Fatal(err)
	}
	if w.postgres, err = pgx.Connect(t.Context(), server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.postgres.Close(context.Background()) })
	return w
}

// Half of the times are within hours of a change of the clocks.
func TestZone_knowsOffsetsAndInstantsAsPostgreSQLDoes(t *testing.T) {
	w := newWorld(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "America/Havana", "Africa/Monrovia"} {
		z, err := w.directory.Find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		offsets, err := w.source.Zone(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		instants := make([]int64, 4000)
		for i := range instants {
			if instants[i] = 2*86400 + r.Int64N(cdc.LastOffset-4*86400); i%2 == 0 && len(offsets) > 1 {
				instants[i] = max(2*86400, offsets[1+r.IntN(len(offsets)-1)].From+r.Int64N(40_000)-20_000)
			}
		}
		rows, err := w.postgres.Query(t.Context(), `SELECT s, extract(epoch FROM (to_timestamp(s) AT TIME ZONE $1) - (to_timestamp(s) AT TIME ZONE 'UTC'))::bigint,
			extract(epoch FROM (to_timestamp(s) AT TIME ZONE 'UTC') AT TIME ZONE $1)::bigint FROM unnest($2::bigint[]) s`, name, instants)
		if err != nil {
			t.Fatal(err)
		}
		var s, offset, instant int64
		if _, err := pgx.ForEachRow(rows, []any{&s, &offset, &instant}, func() error {
			if got, ok := z.Offset(s); !ok || got != offset {
				t.Errorf("%s at %d: offset %d, %t, PostgreSQL says %d", name, s, got, ok, offset)
			}
			if got, ok := z.Instant(s); !ok || got != instant {
				t.Errorf("%s shows %d at %d, %t, PostgreSQL says %d", name, s, got, ok, instant)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestZone_endsWithItsSpan(t *testing.T) {
	z := timezone.New("x", []cdc.Offset{{From: 0, Seconds: 3600}}, true)
	for _, s := range []int64{-1, cdc.LastOffset} {
		if _, ok := z.Offset(s); ok {
			t.Errorf("offset at %d", s)
		}
	}
	for _, s := range []int64{0, 86_399, cdc.LastOffset - 86_400} {
		if _, ok := z.Instant(s); ok {
			t.Errorf("an instant shows %d", s)
		}
	}
	if at, ok := z.Instant(86_400); !ok || at != 82_800 {
		t.Errorf("instant %d, %t", at, ok)
	}
}

func TestDirectory_comparesWithTheEngine(t *testing.T) {
	w := newWorld(t)
	for name, engine := range map[string]bool{
		"Europe/Berlin": true, "Asia/Kolkata": true, "America/New_York": true,
		"America/St_Johns": false, // until 2011 it changed at a minute past midnight, which the engine has at midnight
		"europe/berlin":    false, // a name for PostgreSQL only
	} {
		if z, err := w.directory.Find(t.Context(), name); err != nil || z.Engine != engine {
			t.Errorf("%s: %+v, %v, want that the engine agrees: %t", name, z, err, engine)
		}
	}
	if z, err := w.directory.Find(t.Context(), "Mars/Olympus"); err == nil {
		t.Errorf("a zone that does not exist: %+v", z)
	}
	asked := w.source.asked
	find := func() {
		if _, err := w.directory.Find(t.Context(), "Europe/Berlin"); err != nil {
			t.Fatal(err)
		}
	}
	find()
	if w.source.asked != asked {
		t.Error("a zone that is known is asked for again")
	}
	w.now = w.now.Add(2 * time.Hour)
	if find(); w.source.asked != asked+1 {
		t.Error("a zone that was learned hours ago is not asked for again")
	}
}
