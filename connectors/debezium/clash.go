package debezium

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// topicsPatience bounds how long a look at the catalog waits for the brokers.
const topicsPatience = 5 * time.Second

// refuse says which tables Debezium and Kafka cannot carry beside the others. The connector would fail at their first row, and stop all tables.
func (s *Source) refuse(ctx context.Context, tables []*cdc.Table) map[cdc.TableID]*cdc.TableError {
	ctx, cancel := context.WithTimeout(ctx, topicsPatience)
	defer cancel()
	if all, err := s.admin.ListTopics(ctx); err == nil {
		names := all.Names()
		s.topicsThere.Store(&names)
	} else {
		s.log.Warn("cannot ask which topics there are: those of the last time count", "error", err)
	}
	var there []string
	if names := s.topicsThere.Load(); names != nil {
		there = *names
	}
	return clashes(tables, there, s.cfg.tableTopic)
}

// clashes finds the tables whose topics cannot be beside those that are there or those of older tables, or whose names Debezium mistakes for another's.
func clashes(tables []*cdc.Table, topics []string, topicOf func(table string) string) map[cdc.TableID]*cdc.TableError {
	// Kafka allows no two topics that differ in points and underscores only: the names of its metrics would be the same.
	alike := func(topic string) string { return strings.ReplaceAll(topic, ".", "_") }
	taken := map[string]string{}
	for _, t := range topics {
		taken[alike(t)] = t
	}
	named := map[string]bool{}
	refused := map[cdc.TableID]*cdc.TableError{}
	refuse := func(t *cdc.Table, detail string) {
		refused[t.ID] = &cdc.TableError{Code: cdc.CodeConfiguration, Table: t.FullName(), Detail: detail, Remedy: "rename the table or its schema, exclude it, or use the direct stream"}
	}
	older := func(a, b *cdc.Table) int { return cmp.Compare(a.ID, b.ID) }
	for _, t := range slices.SortedFunc(slices.Values(tables), older) {
		name := t.FullName()
		topic := topicOf(name)
		switch other, there := taken[alike(topic)]; {
		case named[name]:
			refuse(t, fmt.Sprintf("another table is called %s too, with its schema's and its own name divided elsewhere: Debezium does not tell them apart", name))
			continue
		case there && other != topic:
			refuse(t, fmt.Sprintf("Kafka does not allow its topic %s beside %s: their names differ in points and underscores only", topic, other))
			continue
		}
		taken[alike(topic)], named[name] = topic, true
	}
	return refused
}
