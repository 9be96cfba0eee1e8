//go:build kafka

package platform_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/platform"
)

// openSource reads changes as the gateway does that the platform starts.
func openSource(t *testing.T, cfg platform.Config) (*debezium.Source, platform.GatewayConfig) {
	t.Helper()
	gateway, err := platform.ReadGatewayConfig(filepath.Join(cfg.Dir, "gateway.json"))
	if err != nil {
		t.Fatal(err)
	}
	src, err := debezium.New(debezium.Config{Postgres: postgres.Config{URL: gateway.PostgresURL}, Transport: *gateway.Kafka})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.Close)
	return src, gateway
}

func TestResetReplica_isTheWayOnFromALostSlot(t *testing.T) {
	cfg := config(t)
	cfg.CDC = platform.Kafka
	keep(t, up(t, cfg).URL)
	src, gateway := openSource(t, cfg)
	if _, err := src.Tables(stand.Within(t, 2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	saysNoPassword(t, cfg, gateway)
	if _, err := platform.Down(t.Context(), cfg.Dir); err != nil {
		t.Fatal(err)
	}
	up(t, cfg)
	src, gateway = openSource(t, cfg)
	dropSlot(t, gateway.PostgresURL)
	_, err := src.Tables(stand.Within(t, 2*time.Minute))
	sourcetest.WantTerminal(t, err, cdc.CodeSlotLost)

	if err := platform.ResetReplica(t.Context(), cfg.Dir); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, up(t, cfg).URL, "SELECT a FROM kept"); got != "here" {
		t.Errorf("got %q", got)
	}
	src, _ = openSource(t, cfg)
	if _, err := src.Tables(stand.Within(t, 2*time.Minute)); err != nil {
		t.Fatal(err)
	}

	// A slot that is still there leads into topics that are gone.
	slot := func() string {
		return ask(t, inspect(t, cfg).URL, "SELECT coalesce(string_agg(slot_name, ','), 'none') FROM pg_replication_slots")
	}
	if got := slot(); got != "freshet" {
		t.Fatalf("slots are %s", got)
	}
	if err := platform.ResetReplica(t.Context(), cfg.Dir); err != nil {
		t.Fatal(err)
	}
	up(t, cfg)
	if got := slot(); got != "none" {
		t.Errorf("slots are %s after a reset", got)
	}
	src, _ = openSource(t, cfg)
	if _, err := src.Tables(stand.Within(t, 2*time.Minute)); err != nil {
		t.Fatal(err)
	}
}

// dropSlot drops the slot as soon as the connector has let go of it.
func dropSlot(t *testing.T, url string) {
	t.Helper()
	stand.ExecAt(t, url, `DO $$ BEGIN
		FOR i IN 1..100 LOOP
			BEGIN
				PERFORM pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE active;
				PERFORM pg_drop_replication_slot('freshet');
				RETURN;
			EXCEPTION WHEN object_in_use THEN
			END;
		END LOOP;
	END $$`)
}

// saysNoPassword makes sure that Kafka Connect, which asks nobody for a password, tells none.
func saysNoPassword(t *testing.T, cfg platform.Config, gateway platform.GatewayConfig) {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(cfg.Dir, "postgres", "freshet.password"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(gateway.Kafka.Connect.URL + "/connectors/freshet/config")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]string
	if err := json.Unmarshal(body, &settings); err != nil || settings["database.user"] == "" {
		t.Fatalf("Kafka Connect says %s, error %v", body, err)
	}
	if strings.Contains(string(body), strings.TrimSpace(string(secret))) || !strings.HasPrefix(settings["database.password"], "${file:") {
		t.Error("Kafka Connect tells the password")
	}
}
