//go:build kafka

package pipeline_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/debezium"
	access "github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/pipeline"
	"github.com/freshet-io/freshet/operator/internal/pki"
)

// platform is a real database, a real broker and a real Kafka Connect.
type platform struct {
	t       *testing.T
	url     string
	broker  *kafka.Broker
	connect *kafka.Connect
	admin   *kadm.Client
}

func newPlatform(t *testing.T, options ...func(*kafka.BrokerConfig)) *platform {
	t.Helper()
	p := &platform{t: t, broker: stand.Kafka(t, options...)}
	p.connect = stand.KafkaConnect(t, p.broker)
	p.url = stand.Postgres(t, func(c *pgserver.Config) { c.Settings = map[string]string{"wal_level": "logical"} }).URL("postgres")
	stand.ExecAt(t, p.url, "CREATE TABLE stock (id int PRIMARY KEY, v int)", "INSERT INTO stock VALUES (1, 1)")
	client, err := kgo.NewClient(kgo.SeedBrokers(p.broker.Address()), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	p.admin = kadm.NewClient(client)
	return p
}

func (p *platform) transport() debezium.Transport {
	return debezium.Transport{Kafka: access.Config{Brokers: []string{p.broker.Address()}}, Connect: debezium.REST{URL: p.connect.URL()}}
}

// runUnit makes what a gateway makes at its start: slot, publication, topics and a connector that delivers.
func (p *platform) runUnit(name string) {
	p.t.Helper()
	transport := p.transport()
	transport.Prefix = name
	s, err := debezium.New(debezium.Config{Postgres: postgres.Config{URL: p.url, Slot: name}, Transport: transport})
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Tables(stand.Within(p.t, 2*time.Minute)); err != nil {
		p.t.Fatal(err)
	}
}

// left lists connectors, topics without Connect's own, and slots.
func (p *platform) left() []string {
	p.t.Helper()
	ctx := stand.Within(p.t, time.Minute)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.connect.URL()+"/connectors", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var found []string
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		p.t.Fatal(err)
	}
	for i := range found {
		found[i] = "connector " + found[i]
	}
	topics, err := p.admin.ListTopics(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range topics.Names() {
		if !strings.HasPrefix(name, "freshet-connect-") {
			found = append(found, "topic "+name)
		}
	}
	var slots []string
	if err := stand.Connect(p.t, p.url).QueryRow(ctx, "SELECT coalesce(array_agg('slot ' || slot_name), '{}') FROM pg_replication_slots").Scan(&slots); err != nil {
		p.t.Fatal(err)
	}
	found = append(found, slots...)
	slices.Sort(found)
	return found
}

func TestClean_leavesNothingOfUnitsThatAreNoMore(t *testing.T) {
	p := newPlatform(t)
	const prefix = "freshet_0a1b2c3d_"
	ctx := stand.Within(t, 5*time.Minute)
	if lacks, err := (pipeline.Kafka{}).Inspect(ctx, p.transport()); err != nil || len(lacks) > 0 {
		t.Fatalf("lacks %v, error %v", lacks, err)
	}
	p.runUnit(prefix + "0")
	p.runUnit(prefix + "1")
	others := []string{"topic freshet_ffffffff_1.public.stock"} // another cluster's
	if _, err := p.admin.CreateTopic(ctx, 1, 1, nil, "freshet_ffffffff_1.public.stock"); err != nil {
		t.Fatal(err)
	}
	of := func(unit string) []string {
		return []string{"connector " + unit, "slot " + unit, "topic __debezium-heartbeat." + unit, "topic " + unit + ".public.stock", "topic " + unit + ".transaction"}
	}
	for want := slices.Sorted(slices.Values(slices.Concat(of(prefix+"0"), of(prefix+"1"), others))); !slices.Equal(want, p.left()); { // heartbeats begin after 10 s
		select {
		case <-ctx.Done():
			t.Fatalf("there is %v", cmp.Diff(want, p.left()))
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, step := range []struct {
		keep int
		want []string
	}{{1, slices.Concat(of(prefix+"0"), others)}, {0, others}, {0, others}} {
		if err := (pipeline.Kafka{}).Clean(ctx, p.transport(), prefix, step.keep); err != nil {
			t.Fatal(err)
		}
		for { // the server needs a moment to see that a connector has gone
			inUse, err := database.PostgreSQL{}.Clean(ctx, database.Connection{URI: p.url}, prefix, step.keep)
			if err != nil {
				t.Fatal(err)
			}
			if len(inUse) == 0 {
				break
			}
			select {
			case <-ctx.Done():
				t.Fatalf("slots are still in use: %v", inUse)
			case <-time.After(50 * time.Millisecond):
			}
		}
		want := slices.Clone(step.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, p.left()); diff != "" {
			t.Errorf("keep %d (-want +got):\n%s", step.keep, diff)
		}
	}
	// What Connect recorded is gone too: a unit of the same name begins anew.
	p.runUnit(prefix + "1")
}

// certificate is a test server's own, which is its own authority.
func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func TestInspect_namesEveryLackAndItsRemedy(t *testing.T) {
	authority, err := pki.NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server, err := authority.Server(time.Now(), "kafka")
	if err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(stand.Dir(t), "server.pem")
	if err := os.WriteFile(keyFile, append(server.Key, server.Cert...), 0o600); err != nil {
		t.Fatal(err)
	}
	broker := stand.Kafka(t, func(c *kafka.BrokerConfig) {
		c.Secure = &kafka.Secure{KeyFile: keyFile, Users: map[string]string{"unit": "open sesame"}}
	})
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"}]`)
	}))
	t.Cleanup(plain.Close)
	closed := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(closed.Close)

	open := access.Config{Brokers: []string{broker.Address()}}
	secure := func(password string, mechanism access.Mechanism) access.Config {
		return access.Config{
			Brokers: []string{broker.SecureAddress()}, TLS: &access.TLS{CA: string(authority.Cert), ServerName: "kafka"},
			SASL: &access.SASL{User: "unit", Password: access.Secret{Value: password}, Mechanism: mechanism},
		}
	}
	unverified := secure("open sesame", "")
	unverified.TLS = &access.TLS{CA: string(server.Cert), ServerName: "other"}
	address := func(url string) string { _, host, _ := strings.Cut(url, "//"); return host }
	silent := "see that they run, that the addresses in cdc.kafka.external.bootstrapServers and those that they advertise are right, that tls is as they want it, " +
		"and that no NetworkPolicy or certificate is in the way"
	for name, c := range map[string]struct {
		kafka   access.Config
		connect debezium.REST
		want    []string
	}{
		"nothing":        {open, debezium.REST{}, nil},
		"nothing by TLS": {secure("open sesame", access.SCRAM512), debezium.REST{}, nil},
		"no brokers": {access.Config{Brokers: []string{"127.0.0.1:1"}}, debezium.REST{},
			[]string{"KafkaUnreachable: no broker of 127.0.0.1:1 answers; " + silent}},
		"a certificate for others": {unverified, debezium.REST{},
			[]string{"KafkaUnreachable: no broker of " + broker.SecureAddress() + " answers; " + silent}},
		"a wrong password": {secure("guess", ""), debezium.REST{},
			[]string{"KafkaAuthenticationFailed: Kafka does not accept the account: SASL_AUTHENTICATION_FAILED; " +
				"correct mechanism and username in cdc.kafka.external.sasl, and the password in its Secret"}},
		"a mechanism that is off": {secure("open sesame", access.SCRAM256), debezium.REST{},
			[]string{"KafkaAuthenticationFailed: Kafka does not accept the account: UNSUPPORTED_SASL_MECHANISM; " +
				"correct mechanism and username in cdc.kafka.external.sasl, and the password in its Secret"}},
		"an authority that is none": {access.Config{Brokers: []string{"kafka:9093"}, TLS: &access.TLS{CA: "PEM"}}, debezium.REST{},
			[]string{"InvalidKafkaConfiguration: configure Kafka: read the authorities' certificates: the given text holds none in PEM; " +
				"correct cdc.kafka, or the Secrets that it names"}},
		"no Connect": {open, debezium.REST{URL: "http://127.0.0.1:1"},
			[]string{"ConnectUnreachable: Kafka Connect at 127.0.0.1:1 does not answer as it should; " +
				"see that it runs, that cdc.kafka.connect.url is right, and that no NetworkPolicy or certificate is in the way"}},
		"a Connect that refuses": {open, debezium.REST{URL: closed.URL, User: "clerk", TLS: &access.TLS{CA: certificate(closed)}},
			[]string{"ConnectAuthenticationFailed: Kafka Connect at " + address(closed.URL) + ` refuses user "clerk"; ` +
				"correct cdc.kafka.connect.username, and the password in its Secret"}},
		"a Connect without Debezium": {open, debezium.REST{URL: plain.URL},
			[]string{"ConnectorPluginMissing: Kafka Connect at " + address(plain.URL) + " has no connector for PostgreSQL of Debezium's; " +
				"add Debezium's PostgreSQL connector, 3.7 or later, to plugin.path of every worker and restart them"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lacks, err := pipeline.Kafka{}.Inspect(t.Context(), debezium.Transport{Kafka: c.kafka, Connect: c.connect})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range lacks {
				got = append(got, fmt.Sprintf("%s: %v", l.Reason, l))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
