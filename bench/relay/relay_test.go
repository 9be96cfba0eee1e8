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

func TestMedian_ofEvenAndOdd(t *testing.T) {
	if m := median([]float64{3, 1, 2}); m != 2 {
		t.Errorf("median of three is %v", m)
	}
	if m := median([]float64{4, 1, 2, 3}); m != 2.5 {
		t.Errorf("median of four is %v", m)
	}
}
