package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// Keys of the Secrets with which Kafka and Kafka Connect are reached.
const (
	passwordKey = "password"
	caKey       = "ca.crt"
	certKey     = "tls.crt"
	keyKey      = "tls.key"
)

// findPipeline finds out how to reach Kafka and Kafka Connect, where changes come by them.
func (r *Reconciler) findPipeline(ctx context.Context, s *state) (task.Result, error) {
	read := r.readPipeline
	if k := s.cluster.Spec.CDC.Kafka; k != nil && k.Strimzi != nil {
		read = r.runStrimzi
	}
	l, err := read(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if l != nil {
		s.isNot(v1alpha1.ConditionPipelineReady, l.Reason, "%v", l)
		return task.Wait(whenNot), nil
	}
	if s.cluster.Spec.OLTP.CockroachDB != nil {
		return task.Done, r.own(ctx, s, s.objects.Sink(s.transport.Kafka))
	}
	return task.Done, nil
}

// readPipeline reads what spec and Secrets say of Kafka, for the units and for the operator itself.
func (r *Reconciler) readPipeline(ctx context.Context, s *state) (*lack.Lack, error) {
	spec := s.cluster.Spec.CDC.Kafka
	if spec == nil {
		return nil, nil
	}
	brokers := spec.External
	objects := &manifest.Kafka{Broker: manifest.Access{TLS: brokers.TLS}}
	for _, b := range brokers.BootstrapServers {
		objects.Brokers = append(objects.Brokers, string(b))
	}
	if brokers.SASL != nil {
		objects.Broker.User, objects.Broker.Mechanism = brokers.SASL.Username, string(brokers.SASL.Mechanism)
	}
	s.transport = debezium.Transport{Kafka: kafka.Config{Brokers: objects.Brokers, ClientID: manifest.ManagedBy}}
	password, l, err := r.readAccess(ctx, s, brokers.SecretRef, &objects.Broker, &s.transport.Kafka.TLS)
	if l != nil || err != nil {
		return l, err
	}
	if brokers.SASL != nil {
		s.transport.Kafka.SASL = &kafka.SASL{Mechanism: kafka.Mechanism(objects.Broker.Mechanism), User: objects.Broker.User, Password: kafka.Secret{Value: password}}
	}
	if connect := spec.Connect; connect != nil {
		objects.ConnectURL = connect.URL
		objects.Connect = manifest.Access{TLS: strings.HasPrefix(connect.URL, "https://"), User: connect.Username}
		s.transport.Connect = debezium.REST{URL: connect.URL, User: connect.Username}
		password, l, err = r.readAccess(ctx, s, connect.SecretRef, &objects.Connect, &s.transport.Connect.TLS)
		if l != nil || err != nil {
			return l, err
		}
		s.transport.Connect.Password = kafka.Secret{Value: password}
	}
	s.objects.Kafka = objects
	return nil, nil
}

// readAccess reads a Secret with password and certificates. It says in a which of them units are to mount, and returns what the operator
// itself needs of them.
func (r *Reconciler) readAccess(ctx context.Context, s *state, ref *v1alpha1.SecretReference, a *manifest.Access, verify **kafka.TLS) (password string, l *lack.Lack, err error) {
	secret := map[string][]byte{}
	name := ""
	if ref != nil {
		name = ref.Name
		if secret, err = r.readSecret(ctx, s, name); err != nil {
			return "", nil, err
		}
		if secret == nil {
			return "", &lack.Lack{Reason: ReasonSecretNotFound, Detail: fmt.Sprintf("Secret %q does not exist", name), Remedy: "create it, or correct secretRef in cdc.kafka"}, nil
		}
	}
	take := func(key string) (manifest.SecretKey, string) {
		if len(secret[key]) == 0 {
			return manifest.SecretKey{}, ""
		}
		return manifest.SecretKey{Secret: name, Key: key}, string(secret[key])
	}
	if a.TLS {
		t := &kafka.TLS{}
		a.CA, t.CA = take(caKey)
		a.Cert, t.Cert = take(certKey)
		a.Key, t.Key = take(keyKey)
		*verify = t
	}
	if a.User == "" {
		return "", nil, nil
	}
	if a.Password, password = take(passwordKey); password == "" {
		l = &lack.Lack{Reason: ReasonSecretIncomplete, Detail: fmt.Sprintf("Secret %q has no key %s", name, passwordKey), Remedy: fmt.Sprintf("write the password of %q there", a.User)}
	}
	return password, l, nil
}

// inspectPipeline sees whether units can stream by Kafka. Units that run already go on where it cannot be asked for a while.
func (r *Reconciler) inspectPipeline(ctx context.Context, s *state) (task.Result, error) {
	if s.objects.Kafka == nil {
		return task.Done, nil
	}
	lacks, err := r.Pipelines.Inspect(ctx, s.transport)
	if err != nil {
		return task.Done, err
	}
	s.pipelineLacks = append(s.pipelineLacks, lacks...)
	if len(s.pipelineLacks) == 0 || len(s.status.Units) > 0 {
		return task.Done, nil // the condition tells of units and lacks together
	}
	pipeline(s, nil)
	return task.Wait(whenNot), nil
}

// cleanPipeline deletes the connectors and topics of all units.
func (r *Reconciler) cleanPipeline(ctx context.Context, s *state) (task.Result, error) {
	if s.cluster.Spec.CDC.Kafka == nil || !s.hadUnits() || !controllerutil.ContainsFinalizer(s.cluster, Finalizer) ||
		s.cluster.Annotations[AbandonPipelineAnnotation] == "true" {
		return task.Done, nil
	}
	if s.cluster.Spec.OLTP.CockroachDB != nil {
		if done, err := r.endChangefeeds(ctx, s); !done || err != nil {
			return task.Wait(whenNot), err
		}
	}
	if s.cluster.Spec.CDC.Kafka.Strimzi != nil {
		return task.Done, r.endStrimzi(ctx, s)
	}
	l, err := r.readPipeline(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if l == nil {
		err := r.Pipelines.Clean(ctx, s.transport, manifest.SlotPrefix(s.cluster), 0)
		if err == nil {
			return task.Done, nil
		}
		if !errors.As(err, &l) {
			return task.Done, err
		}
	}
	s.isNot(v1alpha1.ConditionReady, ReasonCleaningPipeline,
		"connectors and topics %s* must be deleted: %v. If Kafka will not come back, annotate the HTAPCluster with %s=true",
		manifest.SlotPrefix(s.cluster), l, AbandonPipelineAnnotation)
	return task.Wait(whenNot), nil
}
