//go:build e2e

package pods

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// kafkaSecret has what units need for Kafka.
const kafkaSecret = "shop-kafka"

func TestKafka_unitsFollowTheDatabaseThroughFaultsAndLeaveNothingBehind(t *testing.T) {
	t.Parallel() // the others that are leave it enough of the machine
	w := newWorld(t)
	k := w.startStreams()
	keeps := []string{"Secret " + databaseSecret, "Secret " + kafkaSecret}
	t.Cleanup(func() {
		if t.Failed() {
			w.show(t.Output(), w.namespace)
		}
		w.remove(keeps...) // also then: others need the room
	})
	began := time.Now()
	w.create(w.streamed())
	w.awaitReady(1)
	t.Logf("apply to Ready, one unit: %.1f s", time.Since(began).Seconds())

	p := w.trial(w.ownersURL(owner, "shop"), w.ownersURL(owner, databaseHost))
	p.Load(t)
	stop := p.StartLoad(t, 4)
	w.logStaleness(p.Monitor)
	w.renewPassword(k)

	began = time.Now()
	var c v1alpha1.HTAPCluster
	w.change(&c, "shop", func() { c.Spec.Columnar.Units = 2 })
	w.awaitReady(2)
	t.Logf("1 to 2 units under load: %.1f s", time.Since(began).Seconds())
	w.answers(p, 1)
	w.requireLeft(k, 2)

	for _, victim := range []struct{ pod, process string }{
		{brokerHost + "-0", "java"}, {workerHost + "-0", "java"}, {"shop-unit-0", "freshet"}, {databaseHost, "postgres"},
	} {
		began := time.Now()
		w.kill(w.pod(victim.pod), victim.process)
		w.answers(p, 0)
		w.answers(p, 1)
		w.awaitReady(2)
		t.Logf("kill of %s in %s: both units answered with all that was committed after %.1f s", victim.process, victim.pod, time.Since(began).Seconds())
	}
	stop(20)
	for n, kills := range []int32{1, 0} {
		if pod := w.pod(fmt.Sprintf("shop-unit-%d", n)); restarts(pod) != kills {
			t.Errorf("%s was killed %d times and started again %d times: %+v", pod.Name, kills, restarts(pod), pod.Status.ContainerStatuses)
		}
	}
	for n := range 2 {
		w.answers(p, n).RequireEqualTables(t)
	}

	began = time.Now()
	w.change(&c, "shop", func() { c.Spec.Columnar.Units = 1 })
	w.awaitReady(1)
	w.requireLeft(k, 1)
	t.Logf("2 to 1 units, without connector, topics, slot and publication of the other: %.1f s", time.Since(began).Seconds())
	began = time.Now()
	w.remove(keeps...)
	w.requireLeft(k, 0)
	t.Logf("deletion: %.1f s", time.Since(began).Seconds())
}

// renewPassword changes the password of the units' account, in Kafka and then in the Secret: the operator says what is wrong in between, and
// units go on.
func (w *world) renewPassword(k *streams) {
	w.t.Helper()
	const password = "another"
	before := w.incarnations(1)
	w.eventually("another password in Kafka", func(ctx context.Context) error {
		_, err := k.admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: unitAccount, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password}})
		return err
	})
	w.wake()
	wrong := w.await(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaAuthenticationFailed")
	if message := meta.FindStatusCondition(wrong.Status.Conditions, v1alpha1.ConditionPipelineReady).Message; !strings.Contains(message, "and the password in its Secret") {
		w.t.Errorf("condition PipelineReady does not say what to do: %s", message)
	}
	var s corev1.Secret
	w.change(&s, kafkaSecret, func() { s.Data["password"] = []byte(password) })
	w.wake()
	w.awaitReady(1)
	if diff := cmp.Diff(before, w.incarnations(1)); diff != "" {
		w.t.Errorf("a unit was restarted (-before +after):\n%s", diff)
	}
}

// wake lets the operator look at the cluster now: by itself it does so every 30 s.
func (w *world) wake() {
	w.t.Helper()
	var c v1alpha1.HTAPCluster
	w.change(&c, "shop", func() { metav1.SetMetaDataAnnotation(&c.ObjectMeta, "e2e", rand.Text()) })
}

// startStreams runs a database, a broker and a Kafka Connect, and makes the Secrets by which a cluster reaches them.
func (w *world) startStreams() *streams {
	w.t.Helper()
	began := time.Now()
	w.startDatabase()
	authority := w.startKafka()
	super := w.connect(w.postgresURL(superuser, "super", databaseHost, superuser))
	w.exec(super, fmt.Sprintf("CREATE ROLE %[1]s LOGIN REPLICATION PASSWORD '%[1]s'", owner))
	w.exec(super, fmt.Sprintf("CREATE DATABASE %[1]s OWNER %[1]s", owner))
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: databaseSecret}, StringData: map[string]string{"uri": w.ownersURL(owner, databaseHost)}})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kafkaSecret}, StringData: map[string]string{"password": unitAccount, "ca.crt": string(authority)}})
	options, err := kafka.Config{
		Brokers: []string{w.broker()}, TLS: &kafka.TLS{CA: string(authority)},
		SASL: &kafka.SASL{User: workerAccount, Password: kafka.Secret{Value: workerAccount}},
	}.Options()
	if err != nil {
		w.t.Fatal(err)
	}
	client, err := kgo.NewClient(append(options, kgo.MetadataMinAge(10*time.Millisecond))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	database, err := pgxpool.New(w.t.Context(), w.postgresURL(superuser, "super", databaseHost, owner))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(database.Close)
	k := &streams{world: w, admin: kadm.NewClient(client), database: database}
	w.eventually("the rights of the units' account", k.grant)
	w.eventually("Kafka Connect", func(ctx context.Context) error {
		_, err := k.connectors(ctx)
		return err
	})
	w.t.Logf("database, broker and Kafka Connect: %.1f s", time.Since(began).Seconds())
	return k
}

// streamed is a cluster beside the user's database and Kafka.
func (w *world) streamed() *v1alpha1.HTAPCluster {
	c := external(1)
	c.Spec.Gateway.DrainTime.Duration = 5 * time.Second
	c.Spec.CDC = v1alpha1.CDCSpec{Transport: v1alpha1.TransportKafka, Kafka: &v1alpha1.KafkaSpec{
		Provider: v1alpha1.KafkaExternal,
		External: &v1alpha1.ExternalKafkaSpec{
			BootstrapServers: []v1alpha1.BootstrapServer{v1alpha1.BootstrapServer(w.broker())}, TLS: true,
			SASL: &v1alpha1.SASLSpec{Username: unitAccount}, SecretRef: &v1alpha1.SecretReference{Name: kafkaSecret},
		},
		Connect: &v1alpha1.ConnectSpec{URL: w.workerURL()},
	}}
	return c
}

// logStaleness reads the age of a unit's snapshot for ten seconds under load, and prints it.
func (w *world) logStaleness(monitor string) {
	w.t.Helper()
	var seen []float64
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for len(seen) < 200 {
		<-tick.C
		r, err := platform.ReadReplica(w.t.Context(), monitor)
		if err != nil {
			w.t.Fatal(err)
		}
		seen = append(seen, r.StalenessMS)
	}
	slices.Sort(seen)
	w.t.Logf("staleness of a unit under load, %d looks: p50 %.0f ms, p99 %.0f ms", len(seen), seen[len(seen)/2], seen[len(seen)*99/100])
}

// streams are what units have outside of Kubernetes.
type streams struct {
	*world
	admin    *kadm.Client
	database *pgxpool.Pool // the server is killed meanwhile
}

// grant gives the units' account the rights that the documentation asks for, and no other.
func (k *streams) grant(ctx context.Context) error {
	const prefix = "freshet_"
	for _, acl := range []*kadm.ACLBuilder{
		kadm.NewACLs().Topics(prefix).Operations(kadm.OpCreate, kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpAlterConfigs, kadm.OpRead, kadm.OpDelete),
		kadm.NewACLs().Topics("__debezium-heartbeat." + prefix).Operations(kadm.OpDelete),
	} {
		results, err := k.admin.CreateACLs(ctx, acl.Allow("User:"+unitAccount).AllowHosts().ResourcePatternType(kadm.ACLPatternPrefixed))
		if err != nil {
			return err
		}
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// connectors asks Kafka Connect.
func (k *streams) connectors(ctx context.Context) (names []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.workerURL()+"/connectors", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("Kafka Connect answers %s", answer.Status)
	}
	return names, json.NewDecoder(answer.Body).Decode(&names)
}

// left lists connectors, topics without Kafka Connect's own, slots and publications.
func (k *streams) left(ctx context.Context) ([]string, error) {
	found, err := k.connectors(ctx)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = "connector " + found[i]
	}
	topics, err := k.admin.ListTopics(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range topics.Names() {
		if !strings.HasPrefix(name, "connect-") {
			found = append(found, "topic "+name)
		}
	}
	rows, err := k.database.Query(ctx,
		"SELECT 'slot ' || slot_name FROM pg_replication_slots UNION ALL SELECT 'publication ' || pubname FROM pg_publication")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return found, rows.Err()
}

// ownedBy finds the unit in the names of what it has.
var ownedBy = regexp.MustCompile(`freshet_[0-9a-f]+_(\d+)`)

// requireLeft waits until as many units have what a unit has, and nobody else has anything.
func (w *world) requireLeft(k *streams, units int) {
	w.t.Helper()
	want := map[string]bool{}
	for n := range units {
		for _, kind := range []string{"connector", "topic", "slot", "publication"} { // a table's topic comes with its first change
			want[fmt.Sprintf("%s of unit %d", kind, n)] = true
		}
	}
	w.eventually(fmt.Sprintf("what %d units have outside of Kubernetes", units), func(ctx context.Context) error {
		found, err := k.left(ctx)
		if err != nil {
			return err
		}
		have := map[string]bool{}
		for _, name := range found {
			kind, _, _ := strings.Cut(name, " ")
			if m := ownedBy.FindStringSubmatch(name); m != nil {
				name = kind + " of unit " + m[1]
			}
			have[name] = true
		}
		if diff := cmp.Diff(want, have); diff != "" {
			return fmt.Errorf("%v (-want +have):\n%s", found, diff)
		}
		return nil
	})
}
