//go:build kafka

package kafkafaults

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/trial"
	"github.com/freshet-io/freshet/local/platform"
)

var (
	killCount = flag.Int("kills", 20, "processes to kill")
	victims   = flag.String("victims", "kafka,connect,gateway,engine,postgresql", "what is killed, by commas")
	faultSeed = flag.Uint64("seed", 0, "seed of the kills; 0 for a random one")
)

const (
	// recovery is the longest time that any recovery may take: some 15 s on a machine of two cores of its own, minutes on a crowded one.
	recovery = 8 * time.Minute
	// suspension is how long the broker does not answer.
	suspension = 30 * time.Second
)

func TestPlatform_survivesFaultsOfThePipeline(t *testing.T) {
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("kills by seed %d", seed)
	p := trial.Start(t, platform.Kafka, recovery)
	p.Load(t)
	stop := p.StartLoad(t, seed)
	p.KillAll(t, strings.Split(*victims, ","), *killCount, rand.New(rand.NewPCG(seed, 0)))
	p.Suspend(t, "kafka", suspension)
	p.Eventually(t, "recovery after the broker's suspension", p.ColumnarAnswer)
	reconfigure(t, p, map[string]string{"max.batch.size": "64", "poll.interval.ms": "200", "producer.override.compression.type": "none"})
	p.KillAll(t, []string{"connect"}, 1, rand.New(rand.NewPCG(seed, 1)))
	stop(*killCount)
	p.Eventually(t, "a columnar answer after the last fault", p.ColumnarAnswer)
	p.RequireEqualTables(t)
}

// reconfigure changes settings of the connector behind the gateway's back, as a person may.
func reconfigure(t *testing.T, p *trial.Platform, change map[string]string) {
	t.Helper()
	url := "http://" + p.Component(t.Context(), t, "connect").Address + "/connectors/freshet/config"
	var settings map[string]string
	p.Eventually(t, "other settings of the connector", func(ctx context.Context) error {
		if err := call(ctx, http.MethodGet, url, nil, &settings); err != nil {
			return err
		}
		for name, value := range change {
			settings[name] = value
		}
		return call(ctx, http.MethodPut, url, settings, nil)
	})
}

// call makes a request to Kafka Connect.
func call(ctx context.Context, method, url string, body, into any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: status %s", method, url, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
