//go:build kubernetes

package manager

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/pki"
)

// certified returns a certificate for the endpoint with its key, as a Secret has them.
func certified(t *testing.T) map[string][]byte {
	t.Helper()
	authority, err := pki.NewAuthority("tests", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server, err := authority.Server(time.Now(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"tls.crt": server.Cert, "tls.key": server.Key, "ca.crt": authority.Cert}
}

func TestCluster_tellsOfUnitsAlthoughTheDatabaseIsNotThere(t *testing.T) {
	w := newWorld(t)
	_, secret := w.serving()
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

func TestCluster_doesNotRestartUnitsWithASecretThatLetsNobodyIn(t *testing.T) {
	w := newWorld(t)
	_, secret := w.serving()
	_, before := w.endpointSecret()
	w.databases.change(func(d *databases) {
		d.away = &lack.Lack{Reason: database.ReasonAuthenticationFailed, Detail: "wrong", Remedy: "correct it"}
	})
	secret.Data["uri"] = []byte("postgresql://u:mistyped@db/shop")
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.look(2)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "AuthenticationFailed")
	if _, now := w.endpointSecret(); now != before {
		t.Error("a unit that runs restarts with a password that the database does not take")
	}
	w.databases.change(func(d *databases) { d.away = nil })
	w.look(1)
	w.eventually(func() error {
		if _, now := w.endpointSecret(); now == before {
			return fmt.Errorf("units do not restart although the database lets them in by the Secret")
		}
		return nil
	})
}

func TestCluster_doesNotRestartUnitsWithACertificateThatIsNone(t *testing.T) {
	w := newWorld(t)
	c, database := external(1)
	c.Spec.Gateway.TLS.SecretRef = &v1alpha1.SecretReference{Name: "shop-cert"}
	given := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-cert"}, Type: corev1.SecretTypeTLS, Data: certified(t)}
	w.create(given)
	w.create(database)
	w.create(c)
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	_, before := w.endpointSecret()
	given.Data["tls.crt"] = certified(t)["tls.crt"] // of another key
	if err := w.Update(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	w.wake()
	w.awaitPipelineMessage("CertificateInvalid",
		`Secret "shop-cert": tls: private key does not match public key; write a certificate and its own key there, as PEM`)
	if _, now := w.endpointSecret(); now != before {
		t.Error("a unit that runs restarts with a certificate that is of no use")
	}
	given.Data = certified(t)
	if err := w.Update(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	if _, now := w.endpointSecret(); now == before {
		t.Error("units do not restart with the new certificate")
	}
}

func TestCluster_tellsOfLongMessagesByAnEventAndOnce(t *testing.T) {
	w := newWorld(t)
	w.serving()
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
