//go:build kubernetes

package manager

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/freshet-io/freshet/local/toolchain"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// installStrimzi installs Strimzi's own definitions. Its operator is played by the test.
func installStrimzi(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	crds, err := cache.Strimzi(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(apiServer, envtest.CRDInstallOptions{Paths: []string{crds}}); err != nil {
		t.Fatal(err)
	}
}

// strimzi returns one of Strimzi's objects.
func (w *world) strimzi(kind, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("kafka.strimzi.io/v1")
	o.SetKind(kind)
	return o, w.get(name, o)
}

// judge plays Strimzi's operator, which has looked at an object.
func (w *world) judge(kind, name, condition, reason string) {
	w.t.Helper()
	w.eventually(func() error {
		o, err := w.strimzi(kind, name)
		if err != nil {
			return err
		}
		o.Object["status"] = map[string]any{
			"observedGeneration": o.GetGeneration(),
			"conditions":         []any{map[string]any{"type": condition, "status": "True", "reason": reason, "message": "as it says", "lastTransitionTime": "2026-01-01T00:00:00Z"}},
		}
		return w.Status().Update(w.t.Context(), o)
	})
}

func TestCluster_hasStrimziRunItsKafka(t *testing.T) {
	w := newWorld(t)
	c, database := external(1)
	c.Spec.CDC = v1alpha1.CDCSpec{Transport: v1alpha1.TransportKafka, Kafka: &v1alpha1.KafkaSpec{
		Provider: v1alpha1.KafkaStrimzi, Strimzi: &v1alpha1.StrimziSpec{Connect: &v1alpha1.StrimziConnectSpec{PluginImage: "debezium:3.7"}},
	}}
	w.create(database)
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "StrimziNotInstalled")
	installStrimzi(t)
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaNotReady")
	if _, err := w.strimzi("KafkaNodePool", "shop-kafka"); err != nil {
		t.Error(err)
	}
	w.judge("Kafka", "shop", "NotReady", "UnforceableProblem")
	w.eventually(func() error {
		got := w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaNotReady")
		message := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionPipelineReady).Message
		if !strings.Contains(message, "UnforceableProblem: as it says") {
			return fmt.Errorf("PipelineReady says %q", message)
		}
		return nil
	})
	w.judge("Kafka", "shop", "Ready", "")
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaTopicNotReady")
	for _, topic := range []string{"configs", "offsets", "status"} {
		w.judge("KafkaTopic", "shop-kafka-connect-"+topic, "Ready", "")
	}
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaConnectNotReady")
	w.judge("KafkaConnect", "shop", "Ready", "")
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaUserNotReady")
	w.judge("KafkaUser", "shop-kafka-unit", "Ready", "")
	w.judge("KafkaUser", "shop-kafka-connect", "Ready", "")
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "SecretNotFound")
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-cluster-ca-cert"}, Data: map[string][]byte{"ca.crt": []byte("an authority")}})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-kafka-unit"}, Data: map[string][]byte{"password": []byte("open sesame")}})
	set := w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.pipelines.change(func(p *pipelines) {
		k := p.seen.Kafka
		if k.SASL == nil || k.SASL.User != "shop-kafka-unit" || k.SASL.Password.Value != "open sesame" || k.TLS == nil || k.TLS.CA != "an authority" ||
			p.seen.Connect.URL != "http://shop-connect-api."+w.namespace+".svc:8083" {
			t.Errorf("the operator reaches Kafka by %+v", p.seen)
		}
	})
	if env := gatewayEnv(set)["FRESHET_KAFKA_BROKERS"]; env != "shop-kafka-bootstrap."+w.namespace+".svc:9093" {
		t.Errorf("units reach Kafka by %q", env)
	}
	env := gatewayEnv(set)
	if _, has := env["FRESHET_CONNECT_DATABASE_URL"]; has || env["FRESHET_CONNECT_MANAGED_AS"] != "shop-unit-$(FRESHET_UNIT)" {
		t.Errorf("units are told to register connectors: %v", env)
	}
	w.runsConnectors()
	w.isSteady()

	if err := w.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "StoppingUnits")
	w.end("shop-unit-0")
	w.eventually(func() error {
		if err := w.get("shop", c); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster is still there: %v", err)
		}
		return nil
	})
	for _, kind := range []string{"Kafka", "KafkaConnect"} { // the others are deleted by their owner's end
		if _, err := w.strimzi(kind, "shop"); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", kind, err)
		}
	}
}

// runsConnectors sees that connectors run while their units' slots are there.
func (w *world) runsConnectors() {
	w.t.Helper()
	await := func(name, want string) {
		w.t.Helper()
		w.eventually(func() error {
			o, err := w.strimzi("KafkaConnector", name)
			if want == "" && apierrors.IsNotFound(err) {
				return nil
			}
			if got, _, _ := unstructured.NestedString(o.Object, "spec", "state"); err != nil || got != want {
				return fmt.Errorf("KafkaConnector %s has state %q, want %q, error %w", name, got, want, err)
			}
			return nil
		})
	}
	slots := func(units ...int) {
		w.databases.change(func(d *databases) { d.slots = units })
		w.wake()
	}
	await("shop-unit-0", "stopped")
	slots(0)
	await("shop-unit-0", "running")
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaConnectorNotReady")
	w.judge("KafkaConnector", "shop-unit-0", "NotReady", "ConnectorFailed")
	w.judge("KafkaConnector", "shop-unit-0", "Ready", "")
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionTrue, "Streaming")

	w.scale(2)
	await("shop-unit-1", "stopped")
	slots() // the first unit's has been lost
	await("shop-unit-0", "stopped")
	slots(0)
	await("shop-unit-0", "running")
	w.scale(1)
	await("shop-unit-1", "")
	await("shop-unit-0", "running")
	w.judge("KafkaConnector", "shop-unit-0", "Ready", "")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

// gatewayEnv returns the environment of a StatefulSet's gateways.
func gatewayEnv(set *appsv1.StatefulSet) map[string]string {
	env := map[string]string{}
	for _, c := range set.Spec.Template.Spec.Containers {
		for _, v := range c.Env {
			env[v.Name] = v.Value
		}
	}
	return env
}
