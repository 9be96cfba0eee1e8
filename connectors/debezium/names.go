package debezium

import "github.com/freshet-io/freshet/connectors/postgres"

// tableName is a table as messages name it. Those of one [tableNames] are equal only if they are the same.
type tableName struct {
	postgres.TableName
	full string // schema.name, by which ENDs count; two tables with points in their names may share one
}

// tableNames keeps the names of all tables that messages have named, so that rows need not hold them.
type tableNames struct {
	last *tableName // most rows are of the table of the row before
	all  map[postgres.TableName]*tableName
}

// intern returns the name of a table. It copies what it keeps.
func (n *tableNames) intern(schema, name []byte) *tableName {
	if n.last != nil && n.last.Name == string(name) && n.last.Schema == string(schema) {
		return n.last
	}
	t, known := n.all[postgres.TableName{Schema: string(schema), Name: string(name)}]
	if !known {
		t = &tableName{TableName: postgres.TableName{Schema: string(schema), Name: string(name)}}
		t.full = t.Schema + "." + t.Name
		if n.all == nil {
			n.all = map[postgres.TableName]*tableName{}
		}
		n.all[t.TableName] = t
	}
	n.last = t
	return t
}
