package server

import (
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/replica"
)

func TestConfig_publishesAsOftenAsReadinessWants(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name               string
		objective, flushes time.Duration
		want               time.Duration
	}{
		{"no objective", 0, 0, replica.DefaultFlushInterval},
		{"a wide one", time.Minute, 0, replica.DefaultFlushInterval},
		{"the least that the operator takes", 100 * time.Millisecond, 0, 25 * time.Millisecond},
		{"an interval is given", 100 * time.Millisecond, time.Second, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Config{Listen: "127.0.0.1:0", PostgresURL: "postgres://db/shop", EngineAddr: "127.0.0.1:9000", ReadyStaleness: tc.objective}
			c.Replica.FlushInterval = tc.flushes
			c, err := c.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Replica.FlushInterval; got != tc.want {
				t.Errorf("the interval is %v, want %v", got, tc.want)
			}
		})
	}
}
