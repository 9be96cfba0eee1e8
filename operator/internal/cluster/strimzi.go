package cluster

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// runStrimzi has Strimzi run Kafka and Kafka Connect, and finds out how to reach them. Units that run already go on while Strimzi's
// objects are not ready.
func (r *Reconciler) runStrimzi(ctx context.Context, s *state) (*lack.Lack, error) {
	objects := []*unstructured.Unstructured{s.objects.StrimziKafka(), s.objects.StrimziPool()}
	var kinds []*unstructured.Unstructured
	if connectsByStrimzi(s) {
		objects = slices.Concat(objects, s.objects.StrimziTopics(), []*unstructured.Unstructured{s.objects.StrimziConnect()})
		connector := &unstructured.Unstructured{} // they come later
		connector.SetGroupVersionKind(manifest.StrimziConnectorKind)
		kinds = append(kinds, connector)
	}
	objects = append(objects, s.objects.StrimziUsers()...)
	for _, o := range append(kinds, objects...) {
		l, err := r.findKind(o, strimziLacking)
		if l != nil || err != nil {
			return l, err
		}
	}
	if connectsByStrimzi(s) {
		password, err := s.objects.StrimziDatabase(s.workerURL)
		if err != nil {
			return nil, err
		}
		for _, o := range []client.Object{password, s.objects.ConnectPolicy()} {
			if err := r.own(ctx, s, o); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range objects {
		if err := r.own(ctx, s, o); err != nil {
			return nil, err
		}
		l, err := r.judgeStrimzi(ctx, o)
		if err != nil {
			return nil, err
		}
		if l != nil {
			s.pipelineLacks = append(s.pipelineLacks, l)
		}
	}
	if len(s.pipelineLacks) > 0 && len(s.status.Units) == 0 {
		return s.pipelineLacks[0], nil
	}
	return r.reachStrimzi(ctx, s)
}

// strimziLacking is said where Strimzi's kinds do not exist.
var strimziLacking = lacking{
	reason: ReasonStrimziNotInstalled, remedy: "install Strimzi's operator, 1.0 or later, or use a Kafka by cdc.kafka.provider external",
}

// judgeStrimzi says why one of Strimzi's objects is not ready; nil: it is, as far as it was last applied. KafkaNodePools say nothing: their
// Kafka does.
func (r *Reconciler) judgeStrimzi(ctx context.Context, o *unstructured.Unstructured) (*lack.Lack, error) {
	if o.GetKind() == "KafkaNodePool" {
		return nil, nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), live); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s %q: %w", o.GetKind(), o.GetName(), err)
	}
	return strimziLack(o.GetKind(), o.GetName(), live), nil
}

// strimziLack reads the conditions of one of Strimzi's objects.
func strimziLack(kind, name string, live *unstructured.Unstructured) *lack.Lack {
	why := "Strimzi has not looked at it yet"
	seen, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		text := func(key string) string { s, _ := fields[key].(string); return s }
		if text("status") != string(metav1.ConditionTrue) || seen != live.GetGeneration() {
			continue
		}
		switch text("type") {
		case "Ready":
			return nil
		case "NotReady":
			why = fmt.Sprintf("%s: %s", text("reason"), text("message"))
		}
	}
	return &lack.Lack{
		Reason: kind + "NotReady", Detail: fmt.Sprintf("%s %q is not ready: %s", kind, name, why),
		Remedy: "see its events, its pods, and the log of Strimzi's operator",
	}
}

// reachStrimzi reads what Strimzi has made for its clients.
func (r *Reconciler) reachStrimzi(ctx context.Context, s *state) (*lack.Lack, error) {
	authority, user := manifest.StrimziAuthority(s.cluster), manifest.StrimziUnitUser(s.cluster)
	password := manifest.SecretKey{Secret: user, Key: passwordKey}
	values := map[manifest.SecretKey]string{}
	for _, from := range []manifest.SecretKey{authority, password} {
		secret, err := r.readSecret(ctx, s, from.Secret)
		if err != nil {
			return nil, err
		}
		if values[from] = string(secret[from.Key]); values[from] == "" {
			return &lack.Lack{
				Reason: ReasonSecretNotFound, Detail: fmt.Sprintf("Secret %q with key %s is not there", from.Secret, from.Key),
				Remedy: "Strimzi's operator makes it: see its log",
			}, nil
		}
	}
	s.objects.Kafka = &manifest.Kafka{
		Brokers: []string{manifest.StrimziBootstrap(s.cluster)},
		Broker:  manifest.Access{TLS: true, User: user, Mechanism: string(kafka.SCRAM512), Password: password, CA: authority},
	}
	if connectsByStrimzi(s) {
		s.objects.Kafka.ConnectURL = manifest.StrimziConnectURL(s.cluster)
	}
	s.transport = debezium.Transport{
		Kafka: kafka.Config{
			Brokers: s.objects.Kafka.Brokers, ClientID: manifest.ManagedBy, TLS: &kafka.TLS{CA: values[authority]},
			SASL: &kafka.SASL{Mechanism: kafka.SCRAM512, User: user, Password: kafka.Secret{Value: values[password]}},
		},
		Connect: debezium.REST{URL: s.objects.Kafka.ConnectURL},
	}
	return nil, nil
}

// endStrimzi deletes Kafka Connect, which holds the slots, and the Kafka with all that is in it. Nothing in them is to be cleaned.
func (r *Reconciler) endStrimzi(ctx context.Context, s *state) error {
	objects := []*unstructured.Unstructured{s.objects.StrimziKafka()}
	if connectsByStrimzi(s) {
		objects = append([]*unstructured.Unstructured{s.objects.StrimziConnect()}, objects...)
	}
	for _, o := range objects {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(o.GroupVersionKind())
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), live)
		if err == nil && live.GetDeletionTimestamp().IsZero() && metav1.IsControlledBy(live, s.cluster) {
			err = r.Client.Delete(ctx, live)
		}
		if meta.IsNoMatchError(err) || client.IgnoreNotFound(err) == nil {
			continue
		}
		return fmt.Errorf("delete %s %q: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
