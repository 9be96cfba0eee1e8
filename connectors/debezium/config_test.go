package debezium

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/freshet-io/freshet/connectors/kafka"
)

func TestConfig_leavesMostOfTheProcessMemoryToOthers(t *testing.T) {
	for _, c := range []struct {
		limit int64
		given int
		want  int
	}{
		{math.MaxInt64, 0, 64 << 20},
		{1 << 30, 0, 64 << 20},
		{200 << 20, 0, 20 << 20},
		{200 << 20, 50 << 20, 50 << 20},
	} {
		before := debug.SetMemoryLimit(c.limit)
		cfg, err := Config{Transport: Transport{Kafka: kafka.Config{Brokers: []string{"kafka:9092"}}}, MemoryBytes: c.given}.withDefaults()
		debug.SetMemoryLimit(before)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.MemoryBytes != c.want {
			t.Errorf("with a limit of %d and %d given: %d bytes, want %d", c.limit, c.given, cfg.MemoryBytes, c.want)
		}
	}
}
