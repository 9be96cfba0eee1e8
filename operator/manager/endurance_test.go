//go:build kubernetes

package manager

import (
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestCluster_tellsOfUnitsAlthoughTheDatabaseIsNotThere(t *testing.T) {
	w := newWorld(t)
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	if err := w.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	hindered := fresh
	hindered.Ready, hindered.Problem = false, "the database ends the stream"
	w.units.answer("10.0.0.1", hindered)
	w.look(1)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "SecretNotFound")
	w.awaitCondition(v1alpha1.ConditionReplicasFresh, metav1.ConditionFalse, "UnitsStale")
	got := w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "UnitsHindered")
	if got.Status.Fresh != "0/1" || got.Status.Units[0].Phase != v1alpha1.UnitStale {
		t.Errorf("%s units are fresh: %+v", got.Status.Fresh, got.Status.Units)
	}
	w.isSteady()
}

func TestCluster_tellsOfLongMessagesByAnEventAndOnce(t *testing.T) {
	w := newWorld(t)
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	for _, problem := range []string{strings.Repeat("ä", 700), "x" + strings.Repeat("ä", 700), "R\xf6lle"} { // of two bytes each, and of a server with another encoding
		hindered := fresh
		hindered.Problem = problem
		w.units.answer("10.0.0.1", hindered)
		w.look(1)
		w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "UnitsHindered")
		w.isSteady()
	}
	w.eventually(func() error {
		var events eventsv1.EventList
		if err := w.List(t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == "UnitsHindered" && e.Action == v1alpha1.ConditionPipelineReady && strings.HasSuffix(e.Note, "ä…") {
				return nil
			}
		}
		return fmt.Errorf("no event tells of it: %d others", len(events.Items))
	})
}
