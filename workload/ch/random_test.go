package ch

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLastName_followsClause4_3_2_3(t *testing.T) {
	for n, want := range map[int]string{0: "BARBARBAR", 371: "PRICALLYOUGHT", 999: "EINGEINGEING"} {
		if got := lastName(n); got != want {
			t.Errorf("lastName(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNURand_staysInItsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := stream(rapid.Uint64().Draw(t, "seed"), "test")
		for _, r := range []struct{ a, c, x, y int }{{255, cLastRun, 0, 999}, {1023, cCustomer, 1, 3000}, {8191, cItem, 1, Items}} {
			if n := nuRand(rng, r.a, r.c, r.x, r.y); n < r.x || n > r.y {
				t.Fatalf("nuRand(%+v) = %d", r, n)
			}
		}
	})
}

func TestNURand_constantsDifferAsClause2_1_6_1Allows(t *testing.T) {
	delta := cLastRun - cLastLoad
	if delta < 65 || delta > 119 || delta == 96 || delta == 112 || cLastRun > 255 {
		t.Errorf("the constants for last names differ by %d", delta)
	}
}

func TestData_marksOneInTen(t *testing.T) {
	rng := stream(1, "test")
	const n = 20_000
	marked := 0
	for range n {
		data := string(appendData(nil, rng))
		if len(data) < 26 || len(data) > 50 {
			t.Fatalf("data of %d characters: %q", len(data), data)
		}
		if strings.Contains(data, "ORIGINAL") {
			marked++
		}
	}
	if share := float64(marked) / n; share < 0.09 || share > 0.11 {
		t.Errorf("%.3f are marked, want 0.1", share)
	}
}

func TestMix_drawsByWeight(t *testing.T) {
	rng := stream(1, "test")
	const n = 100_000
	var counts [Transactions]int
	for range n {
		counts[StandardMix.draw(rng)]++
	}
	for kind, weight := range StandardMix {
		share := float64(counts[kind]) / n
		if math.Abs(share-float64(weight)/100) > 0.005 {
			t.Errorf("%s: share %.4f, want %d %%", Transaction(kind), share, weight)
		}
	}
	for range 100 {
		if kind := NewOrderOnly.draw(rng); kind != NewOrder {
			t.Fatalf("New-Order only drew %s", kind)
		}
	}
}
