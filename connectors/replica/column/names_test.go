package column

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestNewRows_refusesNamesThatMeanSomethingElseToTheEngine(t *testing.T) {
	tests := []struct {
		name    string
		columns []string
		ok      bool
	}{
		{"its own", []string{"id", "_id", "part", "null", "size"}, true},
		{"with a dot", []string{"id", "a.null", "a.size"}, true},
		{"that begin alike", []string{"a", "ab.null"}, true},
		{"the replica's", []string{"id", "_rid"}, false},
		{"what the engine stores with a row", []string{"id", "_row_exists"}, false},
		{"what the engine computes of a row", []string{"id", "_part"}, false},
		{"a part of a column before it", []string{"a", "a.null"}, false},
		{"a part of a column after it", []string{"x.size", "x"}, false},
		{"a part of a column with a dot", []string{"a.b", "a.b.null"}, false},
		{"a part of a part", []string{"a", "a.b.null"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def := &cdc.Table{}
			for _, name := range tt.columns {
				def.Columns = append(def.Columns, cdc.Column{Name: name, Type: oidText})
			}
			if _, err := NewRows(def); (err == nil) != tt.ok {
				t.Errorf("columns %q: %v", tt.columns, err)
			}
		})
	}
}
