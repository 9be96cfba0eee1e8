package replica

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
)

// reading receives some columns of a table's rows from the engine, with their row ids.
type reading struct {
	rows   *column.Rows
	names  []string // to be selected
	result proto.Results
	all    []int // the numbers of all columns of rows
}

// newReading prepares for some columns of a table. Each block replaces the rows of the one before.
func newReading(def *cdc.Table, columns []int) (*reading, error) {
	r := &reading{rows: &column.Rows{}, names: []string{column.RowID}}
	r.result = proto.Results{{Name: column.RowID, Data: &r.rows.RID}}
	for i, k := range columns {
		c, err := column.New(def.Columns[k])
		if err != nil {
			return nil, err
		}
		r.rows.Columns = append(r.rows.Columns, c)
		r.names = append(r.names, c.Name())
		r.result = append(r.result, proto.ResultColumn{Name: c.Name(), Data: c})
		r.all = append(r.all, i)
	}
	return r, nil
}
