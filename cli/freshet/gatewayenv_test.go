package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/server"
)

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// given is an environment with the required variables and others.
func given(others map[string]string) map[string]string {
	env := map[string]string{"FRESHET_LISTEN": "l:1", "FRESHET_POSTGRES_URL": "postgres://db/shop", "FRESHET_ENGINE_ADDR": "e:1"}
	maps.Copy(env, others)
	return env
}

func TestGatewayFromEnvironment_readsEveryVariable(t *testing.T) {
	got, err := gatewayFromEnvironment(lookupIn(map[string]string{
		"FRESHET_LISTEN": ":5432", "FRESHET_MONITOR_LISTEN": ":8080", "FRESHET_POSTGRES_URL": "postgres://db/shop", "FRESHET_SLOT": "unit_0",
		"FRESHET_SLOT_FAILOVER": "true", "FRESHET_COPY_CONNECTIONS": "2", "FRESHET_ALLOW_PASSWORDLESS": "true",
		"FRESHET_INCLUDE": "public.*, sales.*", "FRESHET_EXCLUDE": "public.log", "FRESHET_ENGINE_ADDR": "127.0.0.1:9000", "FRESHET_ENGINE_USER": "freshet",
		"FRESHET_ENGINE_PASSWORD": "secret", "FRESHET_ENGINE_THREADS": "2", "FRESHET_READY_STALENESS": "3s",
		"FRESHET_TENANTS_FILE": "/tenants.yaml", "FRESHET_DEFAULT_FRESHNESS": "strong", "FRESHET_DEFAULT_MAX_STALENESS": "250ms",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := server.Config{
		Listen: ":5432", MonitorListen: ":8080", PostgresURL: "postgres://db/shop", Slot: "unit_0", SlotFailover: true, CopyConnections: 2, AllowPasswordless: true,
		Include: []string{"public.*", "sales.*"}, Exclude: []string{"public.log"},
		EngineAddr: "127.0.0.1:9000", EngineUser: "freshet", EnginePassword: "secret", EngineThreads: 2, ReadyStaleness: 3 * time.Second,
		TenantsFile: "/tenants.yaml",
		Defaults:    &pgwire.Settings{Freshness: freshness.Strong, MaxStaleness: 250 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(server.Config{})); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestGatewayFromEnvironment_takesABoundOfZero(t *testing.T) {
	for value, want := range map[string]*pgwire.Settings{"": nil, "0s": {}, "1ms": {MaxStaleness: time.Millisecond}} {
		got, err := gatewayFromEnvironment(lookupIn(given(map[string]string{"FRESHET_DEFAULT_MAX_STALENESS": value})))
		if diff := cmp.Diff(want, got.Defaults); err != nil || diff != "" {
			t.Errorf("%q: error %v (-want +got):\n%s", value, err, diff)
		}
	}
	if _, err := gatewayFromEnvironment(lookupIn(map[string]string{"FRESHET_DEFAULT_MAX_STALENESS": "-1s"})); err == nil {
		t.Error("a negative bound was accepted")
	}
}

func TestGatewayFromEnvironment_refusesWhatItCannotRead(t *testing.T) {
	for name, want := range map[string]string{
		"FRESHET_ENGINE_THREADS": `read FRESHET_ENGINE_THREADS="x"`, "FRESHET_READY_STALENESS": `read FRESHET_READY_STALENESS="x"`,
		"FRESHET_SLOT_FAILOVER":     `read FRESHET_SLOT_FAILOVER="x"`,
		"FRESHET_DEFAULT_FRESHNESS": "none of bounded, strong, eventual", "FRESHET_TLS_CERT_FILE": "give both or none",
	} {
		_, err := gatewayFromEnvironment(lookupIn(given(map[string]string{name: "x"})))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=x: %v, want %q", name, err, want)
		}
	}
}

func TestGatewayFromEnvironment_refusesNegativeNumbers(t *testing.T) {
	for _, name := range []string{"FRESHET_ENGINE_THREADS", "FRESHET_COPY_CONNECTIONS"} {
		_, err := gatewayFromEnvironment(lookupIn(given(map[string]string{name: "-1"})))
		if want := `read ` + name + `="-1"`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=-1: %v, want %q", name, err, want)
		}
	}
}

func TestGatewayFromEnvironment_namesWhatIsMissing(t *testing.T) {
	for _, name := range []string{"FRESHET_LISTEN", "FRESHET_POSTGRES_URL", "FRESHET_ENGINE_ADDR"} {
		_, err := gatewayFromEnvironment(lookupIn(given(map[string]string{name: ""})))
		if err == nil || !strings.Contains(err.Error(), name+" is not set") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestGatewayVariables_areDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, name := range regexp.MustCompile("FRESHET_[A-Z_]+").FindAllString(string(page), -1) {
		said[name] = true
	}
	known := map[string]bool{sourceVariable: true, certFileVariable: true, keyFileVariable: true}
	for _, v := range variables {
		known[v.name] = true
	}
	if diff := cmp.Diff(known, said); diff != "" {
		t.Errorf("variables that docs/gateway.md names (-there are +named):\n%s", diff)
	}
}

func TestGatewayFromEnvironment_selectsTheSource(t *testing.T) {
	broker := kafka.Config{Brokers: []string{"a:1"}}
	for name, c := range map[string]struct {
		env  map[string]string
		want server.Config
	}{
		"direct":   {},
		"debezium": {map[string]string{"FRESHET_KAFKA_BROKERS": "a:1"}, server.Config{Kafka: &debezium.Transport{Kafka: broker}}},
		"changefeed": {
			map[string]string{"FRESHET_SOURCE": "cockroachdb", "FRESHET_KAFKA_BROKERS": "a:1", "FRESHET_KAFKA_PREFIX": "p.", "FRESHET_CHANGEFEED_SINK": "kafka://a:1"},
			server.Config{CockroachDB: &cockroachdb.Transport{Kafka: broker, Prefix: "p.", Sink: kafka.Secret{Value: "kafka://a:1"}}},
		},
	} {
		got, err := gatewayFromEnvironment(lookupIn(given(c.env)))
		c.want.Listen, c.want.PostgresURL, c.want.EngineAddr = "l:1", "postgres://db/shop", "e:1"
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(server.Config{})); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := gatewayFromEnvironment(lookupIn(map[string]string{"FRESHET_SOURCE": "oracle"})); err == nil {
		t.Error("an unknown source was accepted")
	}
}

func TestGatewayFromFile_readsWhoMayLogIn(t *testing.T) {
	for content, want := range map[string]bool{`{}`: false, `{"allow_passwordless": true}`: true} {
		file := filepath.Join(t.TempDir(), "gateway.json")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := gatewayFromFile(file); err != nil || got.AllowPasswordless != want {
			t.Errorf("%s: %t, %v; want %t", content, got.AllowPasswordless, err, want)
		}
	}
}
