package debezium

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Estate is what sources have in Kafka and Kafka Connect. It is for an operator, who sees to several sources and streams none.
type Estate struct {
	kafka   *kgo.Client
	admin   *kadm.Client
	connect *connectClient
}

// OpenEstate returns the estate at a transport, whose Prefix and Connector are not looked at. It does not connect yet. Connect may be
// absent: then there are topics only.
func OpenEstate(t Transport) (*Estate, error) {
	options, err := t.Kafka.Options()
	if err != nil {
		return nil, err
	}
	// A list of topics must not be one from before: the client keeps them for that long.
	options = append(options, kgo.MetadataMinAge(10*time.Millisecond))
	e := &Estate{}
	if t.Connect.URL != "" {
		if e.connect, err = newConnectClient(t.Connect); err != nil {
			return nil, err
		}
	}
	if e.kafka, err = kgo.NewClient(options...); err != nil {
		return nil, fmt.Errorf("configure Kafka: %w", err)
	}
	e.admin = kadm.NewClient(e.kafka)
	return e, nil
}

// Close releases the connections.
func (e *Estate) Close() {
	e.kafka.Close()
	if e.connect != nil {
		e.connect.close()
	}
}

// Ping returns an error unless a broker answers.
func (e *Estate) Ping(ctx context.Context) error {
	if err := e.kafka.Ping(ctx); err != nil {
		return fmt.Errorf("ask Kafka: %w", err)
	}
	return nil
}

// HasPlugin says whether Kafka Connect has Debezium's connector for PostgreSQL.
func (e *Estate) HasPlugin(ctx context.Context) (bool, error) {
	type plugin struct{ Class string }
	var plugins []plugin
	if _, err := e.connect.call(ctx, http.MethodGet, "/connector-plugins", nil, &plugins); err != nil {
		return false, err
	}
	return slices.ContainsFunc(plugins, func(p plugin) bool { return p.Class == connectorClass }), nil
}

// Prefixes lists, in order, the prefixes of sources which have a connector or topics and begin with what is given.
func (e *Estate) Prefixes(ctx context.Context, begin string) ([]string, error) {
	var found []string
	if e.connect != nil {
		if _, err := e.connect.call(ctx, http.MethodGet, "/connectors", nil, &found); err != nil {
			return nil, err
		}
	}
	topics, err := e.admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	for _, name := range topics.Names() {
		prefix, _, _ := strings.Cut(strings.TrimPrefix(name, heartbeats), ".")
		found = append(found, prefix)
	}
	found = slices.DeleteFunc(found, func(p string) bool { return !strings.HasPrefix(p, begin) })
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Remove deletes a source's connector with what Connect recorded of its progress, and its topics. The source must have ended: it would
// register its connector again. What is not there is no error.
func (e *Estate) Remove(ctx context.Context, prefix string) error {
	if e.connect != nil {
		if err := e.connect.remove(ctx, prefix); err != nil {
			return err
		}
	}
	return removeTopics(ctx, e.admin, prefix)
}

// heartbeats begins the names of the topics of Debezium's heartbeats.
const heartbeats = "__debezium-heartbeat."

// removeTopics deletes a source's topics and waits until the broker has forgotten them.
func removeTopics(ctx context.Context, admin *kadm.Client, prefix string) error {
	for {
		all, err := admin.ListTopics(ctx)
		if err != nil {
			return fmt.Errorf("list topics: %w", err)
		}
		own := slices.DeleteFunc(all.Names(), func(name string) bool {
			return !strings.HasPrefix(name, prefix+".") && name != heartbeats+prefix
		})
		if len(own) == 0 {
			return nil
		}
		deleted, err := admin.DeleteTopics(ctx, own...)
		if err != nil {
			return fmt.Errorf("delete topics: %w", err)
		}
		for _, t := range deleted {
			if t.Err != nil && !errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
				return fmt.Errorf("delete topic %s: %w", t.Topic, t.Err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("delete topics: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
