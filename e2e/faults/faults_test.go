package faults

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/trial"
	"github.com/freshet-io/freshet/local/platform"
)

var (
	killCount = flag.Int("kills", 21, "processes to kill")
	faultSeed = flag.Uint64("seed", 0, "seed of the kills; 0 for a random one")
)

// recovery is the longest time that any restart may take.
const recovery = 90 * time.Second

func TestPlatform_survivesKillsAtAnyInstant(t *testing.T) {
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("kills by seed %d", seed)
	p := trial.Start(t, platform.Direct, recovery)
	p.Load(t)
	stop := p.StartLoad(t, seed)
	p.KillAll(t, []string{"gateway", "engine", "postgresql"}, *killCount, rand.New(rand.NewPCG(seed, 0)))
	stop(*killCount)
	p.Eventually(t, "a columnar answer after the last kill", p.ColumnarAnswer)
	p.RequireEqualTables(t)
}
