package debezium

import (
	"slices"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestClashes_refuseAllButOne(t *testing.T) {
	cfg := Config{Transport: Transport{Prefix: "p"}}
	for name, c := range map[string]struct {
		tables []*cdc.Table
		topics []string
		want   []cdc.TableID
	}{
		"nothing in common":       {[]*cdc.Table{{ID: 1, Schema: "a", Name: "b"}, {ID: 2, Schema: "a", Name: "c"}}, []string{"p.a.b"}, nil},
		"one topic":               {[]*cdc.Table{{ID: 1, Schema: "a", Name: "x_y"}, {ID: 2, Schema: "a", Name: "x y"}}, []string{"p.a.x_y"}, nil},
		"points and underscores":  {[]*cdc.Table{{ID: 2, Schema: "app_user", Name: "role"}, {ID: 1, Schema: "app", Name: "user_role"}}, nil, []cdc.TableID{2}},
		"one has a topic":         {[]*cdc.Table{{ID: 2, Schema: "app_user", Name: "role"}, {ID: 1, Schema: "app", Name: "user_role"}}, []string{"p.app_user.role"}, []cdc.TableID{1}},
		"a topic of no table":     {[]*cdc.Table{{ID: 1, Schema: "a", Name: "b.c"}}, []string{"p.a_b.c"}, []cdc.TableID{1}},
		"another prefix":          {[]*cdc.Table{{ID: 1, Schema: "a", Name: "b"}}, []string{"p_a.b"}, []cdc.TableID{1}},
		"names divided elsewhere": {[]*cdc.Table{{ID: 1, Schema: "a", Name: "b.c"}, {ID: 2, Schema: "a.b", Name: "c"}}, nil, []cdc.TableID{2}},
	} {
		got := clashes(c.tables, c.topics, cfg.tableTopic)
		var ids []cdc.TableID
		for id, why := range got {
			ids = append(ids, id)
			if why.Code != cdc.CodeConfiguration || why.Detail == "" || why.Remedy == "" {
				t.Errorf("%s: it says %+v", name, why)
			}
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s: refused are %v, want %v", name, ids, c.want)
		}
	}
}
