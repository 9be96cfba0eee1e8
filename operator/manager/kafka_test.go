//go:build kubernetes

package manager

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/pipeline"
)

// streamed returns a cluster on an external database and an external Kafka, and its Secrets.
func streamed(units int32) (c *v1alpha1.HTAPCluster, database, brokers *corev1.Secret) {
	c, database = external(units)
	c.Spec.CDC = v1alpha1.CDCSpec{Transport: v1alpha1.TransportKafka, Kafka: &v1alpha1.KafkaSpec{
		Provider: v1alpha1.KafkaExternal,
		External: &v1alpha1.ExternalKafkaSpec{
			BootstrapServers: []v1alpha1.BootstrapServer{"kafka:9093"}, TLS: true,
			SASL: &v1alpha1.SASLSpec{Username: "unit"}, SecretRef: &v1alpha1.SecretReference{Name: "shop-kafka"},
		},
		Connect: &v1alpha1.ConnectSpec{URL: "http://connect:8083"},
	}}
	brokers = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-kafka"}, Data: map[string][]byte{"ca.crt": []byte("an authority")}}
	return c, database, brokers
}

func TestCluster_waitsForAKafkaThatItsUnitsCanUse(t *testing.T) {
	w := newWorld(t)
	c, database, brokers := streamed(1)
	w.pipelines.change(func(p *pipelines) {
		p.lacks = []*lack.Lack{{Reason: pipeline.ReasonConnectorPluginMissing, Detail: "it is not there", Remedy: "add it"}}
	})
	w.create(database)
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "SecretNotFound")
	w.create(brokers)
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "SecretIncomplete")
	brokers.Data["password"] = []byte("open sesame")
	if err := w.Update(t.Context(), brokers); err != nil {
		t.Fatal(err)
	}
	got := w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "ConnectorPluginMissing")
	if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionReady).Message; m != "PipelineReady: it is not there; add it" {
		t.Errorf("Ready says %q", m)
	}
	w.pipelines.change(func(p *pipelines) {
		want := debezium.Transport{
			Kafka: kafka.Config{
				Brokers: []string{"kafka:9093"}, ClientID: "freshet-operator", TLS: &kafka.TLS{CA: "an authority"},
				SASL: &kafka.SASL{Mechanism: kafka.SCRAM512, User: "unit", Password: kafka.Secret{Value: "open sesame"}},
			},
			Connect: debezium.REST{URL: "http://connect:8083"},
		}
		if diff := cmp.Diff(want, p.seen); diff != "" {
			t.Errorf("the operator reaches Kafka otherwise (-want +got):\n%s", diff)
		}
		p.lacks = nil
	})
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.pipelines.change(func(p *pipelines) {
		p.lacks = []*lack.Lack{{Reason: pipeline.ReasonKafkaUnreachable, Detail: "it does not answer", Remedy: "see"}}
	})
	w.wake()
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "KafkaUnreachable")
}

func TestCluster_cleansKafkaAfterUnitsThatAreNoMore(t *testing.T) {
	w := newWorld(t)
	c, database, brokers := streamed(2)
	brokers.Data["password"] = []byte("open sesame")
	w.create(database)
	w.create(brokers)
	w.create(c)
	w.startUnits(fresh, fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	before := c.DeepCopy()
	c.Spec.Columnar.Units = 1
	if err := w.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.look(2)
	w.pipelines.change(func(p *pipelines) {
		if least := slices.Min(p.cleans); least != 2 {
			t.Errorf("what units from %d on have was deleted while the pod of unit 1 was there", least)
		}
	})
	w.end("shop-unit-1")
	w.eventually(func() error { return w.cleaned(1) })

	w.pipelines.change(func(p *pipelines) {
		p.refuse = &lack.Lack{Reason: pipeline.ReasonConnectUnreachable, Detail: "it does not answer", Remedy: "see"}
	})
	if err := w.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "StoppingUnits")
	w.end("shop-unit-0")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "CleaningPipeline")
	w.databases.change(func(d *databases) {
		if slices.Min(d.cleans) == 0 {
			t.Error("slots were dropped while connectors had them")
		}
	})
	w.pipelines.change(func(p *pipelines) { p.refuse = nil })
	w.eventually(func() error {
		if err := w.get("shop", c); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster is still there: %v", err)
		}
		return w.cleaned(0)
	})
}

// end plays StatefulSet controller and kubelet for a pod that is to go.
func (w *world) end(name string) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
	if err := w.Delete(w.t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		w.t.Fatal(err)
	}
}

// cleaned says whether Kafka was cleaned of what units from a number on have.
func (w *world) cleaned(keep int) (err error) {
	w.pipelines.change(func(p *pipelines) {
		if !slices.Contains(p.cleans, keep) {
			err = fmt.Errorf("Kafka was cleaned with %v, not with %d", p.cleans, keep)
		}
	})
	return err
}
