package debezium

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// prepareConnector creates the topics that are missing and registers the connector.
func (s *Source) prepareConnector(ctx context.Context, found []cdc.Discovered) error {
	if err := s.widenTopics(ctx); err != nil {
		return err
	}
	con := s.cfg.Connector.withDefaults()
	tables := []string{}
	for _, d := range found {
		if d.Stopped == nil {
			tables = append(tables, s.cfg.tableTopic(d.Table.FullName()))
		}
	}
	slices.Sort(tables)
	tables = slices.Compact(tables) // the broker refuses one that is asked for twice
	for _, group := range []struct {
		partitions int
		topics     []string
	}{{1, []string{s.cfg.boundsTopic()}}, {con.Partitions, tables}} {
		if len(group.topics) == 0 {
			continue
		}
		made, err := s.admin.CreateTopics(ctx, int32(group.partitions), int16(con.Replication), con.topicSettings(), group.topics...)
		if err != nil {
			return fmt.Errorf("create topics: %w", err)
		}
		for _, t := range made {
			if t.Err != nil && !errors.Is(t.Err, kerr.TopicAlreadyExists) {
				return fmt.Errorf("create topic %s: %w", t.Topic, t.Err)
			}
		}
	}
	return s.register(ctx)
}

// widenTopics has the topics that are there take messages of the size that the connector may send. Where this is refused it is said and no more:
// most rows are smaller.
func (s *Source) widenTopics(ctx context.Context) error {
	own, err := s.topics(ctx)
	if err != nil || len(own) == 0 {
		return err
	}
	size := s.cfg.Connector.withDefaults().topicSettings()[mostBytes]
	has, err := s.admin.DescribeTopicConfigs(ctx, slices.Sorted(maps.Keys(own))...)
	if err != nil {
		return fmt.Errorf("ask topics for %s: %w", mostBytes, err)
	}
	var narrow []string
	for _, t := range has {
		if t.Err == nil && !slices.ContainsFunc(t.Configs, func(c kadm.Config) bool { return c.Key == mostBytes && c.MaybeValue() == *size }) {
			narrow = append(narrow, t.Name)
		}
	}
	if len(narrow) == 0 {
		return nil
	}
	changed, err := s.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: mostBytes, Value: size}}, narrow...)
	if err != nil {
		return fmt.Errorf("set %s of topics: %w", mostBytes, err)
	}
	for _, t := range changed {
		if t.Err != nil && !errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
			s.log.Warn("cannot let a topic take large messages; allow it to be configured, or set it by hand", "topic", t.Name, "setting", mostBytes, "value", *size, "error", t.Err)
		}
	}
	return nil
}
