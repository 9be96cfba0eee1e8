package cockroach_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/operator/internal/cockroach"
)

const internals = "SET allow_unsafe_internals = on"

func TestNodes_readsWhatIsRecordedOfThem(t *testing.T) {
	ask := &recording{}
	if _, err := cockroach.Nodes(t.Context(), ask); err != nil || len(ask.said) != 2 || ask.said[0] != internals {
		t.Fatalf("said %q, error %v", ask.said, err)
	}
	nodes := ask.said[1]
	for _, table := range []string{"kv_node_liveness", "kv_node_status", "gossip_nodes", "kv_store_status"} {
		if !strings.Contains(nodes, "crdb_internal."+table) {
			t.Errorf("the statement does not read %s:\n%s", table, nodes)
		}
	}
	for name, c := range map[string]struct {
		rows  [][]string
		want  []cockroach.Node
		fails bool
	}{
		"none": {nil, nil, false},
		"some": {[][]string{{"1", "a:26257", "true", "false", "false", "41"}, {"7", "", "false", "true", "true", "0"}},
			[]cockroach.Node{{ID: 1, Address: "a:26257", Live: true, Replicas: 41}, {ID: 7, Leaving: true, Draining: true}}, false},
		"a name for an ID":    {[][]string{{"one", "a:26257", "true", "false", "false", "41"}}, nil, true},
		"a name for a number": {[][]string{{"1", "a:26257", "true", "false", "false", "many"}}, nil, true},
		"a column less":       {[][]string{{"1", "a:26257", "true", "false", "false"}}, nil, true},
	} {
		got, err := cockroach.Nodes(t.Context(), &recording{answers: map[string][][]string{nodes: c.rows}})
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.fails {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := cockroach.Nodes(t.Context(), &recording{refuse: nodes}); err == nil {
		t.Error("a refusal is no error")
	}
}
