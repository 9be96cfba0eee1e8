package relay

import "testing"

func TestParseRate_readsWhatPgbenchPrints(t *testing.T) {
	out := "latency average = 0.2 ms\ninitial connection time = 5.1 ms\ntps = 15532.809457 (without initial connection time)\n"
	rate, err := parseRate([]byte(out))
	if err != nil || rate != 15532.809457 {
		t.Errorf("rate %v, %v", rate, err)
	}
	if _, err := parseRate([]byte("pgbench: error: no")); err == nil {
		t.Error("no error without a rate")
	}
}
