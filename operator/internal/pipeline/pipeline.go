package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/operator/internal/lack"
)

// Reasons for which units cannot stream; they are reasons of the condition PipelineReady.
const (
	ReasonInvalidKafka                = "InvalidKafkaConfiguration"
	ReasonKafkaUnreachable            = "KafkaUnreachable"
	ReasonKafkaAuthenticationFailed   = "KafkaAuthenticationFailed"
	ReasonKafkaAuthorizationFailed    = "KafkaAuthorizationFailed"
	ReasonConnectUnreachable          = "ConnectUnreachable"
	ReasonConnectAuthenticationFailed = "ConnectAuthenticationFailed"
	ReasonConnectorPluginMissing      = "ConnectorPluginMissing"
)

const (
	// askLimit bounds how long the operator waits for Kafka, and as long for Kafka Connect.
	askLimit = 5 * time.Second
	// cleanLimit bounds how long one round of cleaning may take. What is left is for the next.
	cleanLimit = 30 * time.Second
)

// Kafka inspects and cleans Kafka and Kafka Connect over the network. The zero value is ready for use.
type Kafka struct{}

// Inspect returns all that Kafka and Kafka Connect lack for units. An error says that ctx ended.
func (Kafka) Inspect(ctx context.Context, t debezium.Transport) ([]*lack.Lack, error) {
	estate, err := debezium.OpenEstate(t)
	if err != nil {
		return []*lack.Lack{invalid(err)}, nil
	}
	defer estate.Close()
	var lacks []*lack.Lack
	within := func(ask func(context.Context) error, explain func(debezium.Transport, error) *lack.Lack) {
		asking, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		if err := ask(asking); err != nil {
			lacks = append(lacks, explain(t, err))
		}
	}
	within(estate.Ping, explainKafka)
	if t.Connect.URL != "" {
		within(func(ctx context.Context) error { return requirePlugin(ctx, t, estate) }, explainConnect)
	}
	return lacks, ctx.Err()
}

func requirePlugin(ctx context.Context, t debezium.Transport, estate *debezium.Estate) error {
	has, err := estate.HasPlugin(ctx)
	if err != nil || has {
		return err
	}
	return &lack.Lack{
		Reason: ReasonConnectorPluginMissing, Detail: fmt.Sprintf("Kafka Connect at %s has no connector for PostgreSQL of Debezium's", host(t)),
		Remedy: "add Debezium's PostgreSQL connector, 3.7 or later, to plugin.path of every worker and restart them",
	}
}

// Clean deletes the connectors, with what Kafka Connect recorded of them, and the topics that units of number keep and
// higher have left. Their names are prefix and the unit's number. What cannot be reached comes as *lack.Lack.
func (Kafka) Clean(ctx context.Context, t debezium.Transport, prefix string, keep int) error {
	estate, err := debezium.OpenEstate(t)
	if err != nil {
		return invalid(err)
	}
	defer estate.Close()
	asking, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := estate.Ping(asking); err != nil {
		return explainKafka(t, err)
	}
	ctx, cancel = context.WithTimeout(ctx, cleanLimit)
	defer cancel()
	names, err := estate.Prefixes(ctx, prefix)
	if err != nil {
		return explain(t, err)
	}
	for _, name := range names {
		number, err := strconv.Atoi(strings.TrimPrefix(name, prefix))
		if err != nil || number < keep {
			continue
		}
		if err := estate.Remove(ctx, name); err != nil {
			return explain(t, err)
		}
	}
	return nil
}

// explain tells whose error it is: a broker's says so, all others are Kafka Connect's.
func explain(t debezium.Transport, err error) error {
	if _, ok := errors.AsType[*kerr.Error](err); ok {
		return explainKafka(t, err)
	}
	return explainConnect(t, err)
}

func invalid(err error) *lack.Lack {
	return &lack.Lack{Reason: ReasonInvalidKafka, Detail: err.Error(), Remedy: "correct cdc.kafka, or the Secrets that it names"}
}

func explainKafka(t debezium.Transport, err error) *lack.Lack {
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return &lack.Lack{Reason: ReasonKafkaAuthenticationFailed, Detail: "Kafka does not accept the account: " + brokerError(err),
			Remedy: "correct mechanism and username in cdc.kafka.external.sasl, and the password in its Secret"}
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed):
		return &lack.Lack{Reason: ReasonKafkaAuthorizationFailed, Detail: "Kafka refuses the account: " + brokerError(err),
			Remedy: "allow it to create, describe, configure, read and delete topics that begin with freshet_"}
	}
	return &lack.Lack{Reason: ReasonKafkaUnreachable, Detail: "no broker of " + strings.Join(t.Kafka.Brokers, ", ") + " answers",
		Remedy: "see that they run, that the addresses in cdc.kafka.external.bootstrapServers and those that they advertise are right, that tls is as they want it, " +
			"and that no NetworkPolicy or certificate is in the way"}
}

// brokerError is the part of an error that does not change from one attempt to the next.
func brokerError(err error) string {
	if broker, ok := errors.AsType[*kerr.Error](err); ok {
		return broker.Message
	}
	return "unknown"
}

func explainConnect(t debezium.Transport, err error) *lack.Lack {
	var known *lack.Lack
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, debezium.ErrConnectRefuses):
		return &lack.Lack{Reason: ReasonConnectAuthenticationFailed, Detail: fmt.Sprintf("Kafka Connect at %s refuses user %q", host(t), t.Connect.User),
			Remedy: "correct cdc.kafka.connect.username, and the password in its Secret"}
	}
	return &lack.Lack{Reason: ReasonConnectUnreachable, Detail: fmt.Sprintf("Kafka Connect at %s does not answer as it should", host(t)),
		Remedy: "see that it runs, that cdc.kafka.connect.url is right, and that no NetworkPolicy or certificate is in the way"}
}

// host is the address of Kafka Connect, without what may be secret in a URL.
func host(t debezium.Transport) string {
	u, err := url.Parse(t.Connect.URL)
	if err != nil {
		return "its address"
	}
	return u.Host
}
