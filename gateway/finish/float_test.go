package finish

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
)

func TestFloats_areWrittenAsPostgreSQLWritesThem(t *testing.T) {
	const each = 10_000
	doubles, singles := []float64{1e23, 4.783468041647608e17, math.MaxFloat64, math.SmallestNonzeroFloat64}, []float32{math.MaxFloat32, math.SmallestNonzeroFloat32}
	for range each {
		doubles = append(doubles, math.Float64frombits(rand.Uint64()), // any
			float64(rand.Int64()), float64(rand.Int64N(1<<58)), // whole numbers, which are half way between others more often
			float64(rand.IntN(1000))*math.Pow10(15+rand.IntN(12)), math.Ldexp(1, rand.IntN(2000)-1000))
		singles = append(singles, math.Float32frombits(rand.Uint32()),
			float32(rand.IntN(1<<30)), float32(rand.IntN(1000))*float32(math.Pow10(rand.IntN(20))))
	}
	conn, err := pgx.Connect(t.Context(), stand.Postgres(t).URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	requireTexts(t, conn, "SELECT v::text FROM unnest($1::float8[]) WITH ORDINALITY AS u(v, n) ORDER BY n", doubles, textFloat64)
	requireTexts(t, conn, "SELECT v::text FROM unnest($1::float4[]) WITH ORDINALITY AS u(v, n) ORDER BY n", singles, textFloat32)
}

// requireTexts compares the texts of values with those of a query that is given them.
func requireTexts[T any](t *testing.T, conn *pgx.Conn, query string, values []T, text func([]byte, T) []byte) {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, values)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(want) != len(values) {
		t.Fatalf("%d texts of %d values: %v", len(want), len(values), err)
	}
	differ := 0
	for i, v := range values {
		if got := string(text(nil, v)); got != want[i] {
			if differ++; differ <= 10 {
				t.Errorf("%v is written %s, want %s", v, got, want[i])
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d values differ", differ, len(values))
	}
}
