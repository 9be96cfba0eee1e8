package server_test

import (
	"strings"
	"testing"
)

// What is written as a sum is one value still where something is taken off it, or multiplies it.
func TestGateway_computesWithSumsAsWithValues(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, tickets).routes()
	for _, value := range []string{
		"closed - to_timestamp(kind)", "to_timestamp(kind) - seen", "timestamptz '2024-03-01 00:00+00' - to_timestamp(kind + 0.5)", "to_timestamp(kind) + interval '1 mon'", "age(seen, to_timestamp(kind))",
		"to_timestamp(kind)::timestamptz(0)", "date_trunc('hour', to_timestamp(kind))", "date_bin('15 minutes', seen, to_timestamp(kind))",
		"interval '1 second' * date_part('second', closed)", "interval '1 hour' * date_part('milliseconds', closed)",
		"width_bucket(date_part('second', closed), 60, 0, 7)", "width_bucket(date_part('epoch', age(closed, opened)), 9000000, 0, 7)", "10 - date_part('second', closed)", "interval '1 second' * date_part('epoch', age(closed, opened))",
	} {
		wantSameAnswer(t, columnar, oltp, strings.ReplaceAll("SELECT id, # FROM ticket WHERE id % 7 = 0 ORDER BY id", "#", value))
	}
	wantSameAnswer(t, columnar, oltp, "SELECT id FROM ticket WHERE seen - to_timestamp(kind) > interval '19790 days' ORDER BY id")
}
