package replica_test

import (
	"strconv"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func key(t *cdc.Table, r row) string {
	k := ""
	for _, i := range t.Key {
		k += strconv.Quote(r[i]) + ","
	}
	return k
}

func datums(r row) cdc.Row {
	d := make(cdc.Row, len(r))
	for i, v := range r {
		if v == null {
			d[i].Kind = cdc.Null
		} else {
			d[i] = cdc.Datum{Kind: cdc.Text, Data: []byte(v)}
		}
	}
	return d
}

func oldKey(t *cdc.Table, r row) cdc.Row {
	d := make(cdc.Row, len(r))
	for _, i := range t.Key {
		d[i] = cdc.Datum{Kind: cdc.Text, Data: []byte(r[i])}
	}
	return d
}
