package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/gateway/datarow"
)

// maxHanded bounds the rows that PostgreSQL is handed for a cursor, in bytes.
const maxHanded = 4 << 20

// handRows runs the query of a DECLARE on the replica and declares the cursor on PostgreSQL with the rows that this
// yields in the query's place. The cursor then is PostgreSQL's in all that becomes of it, in this block, in others and
// outside: functions may move or close it, a rollback may drop it, and the settings by which its rows are written may
// change.
func (r *run) handRows(ctx context.Context, b *backend, q Query) error {
	c, fields := r.e.class, r.d.fields
	if r.s.block.portals[c.Cursor] != nil { // which PostgreSQL does not know
		return duplicateCursor(c.Cursor)
	}
	types, err := b.columnTypes(ctx, c.Cursor, fields)
	if err != nil {
		return r.notHanded(err)
	}
	scroll := c.Scroll
	if scroll == "" {
		if scroll, err = b.scrollOf(ctx, r.e); err != nil {
			return r.notHanded(err)
		}
	}
	rows := columns{values: make([][]byte, len(fields))}
	if _, err := q.Run(ctx, slices.Repeat([]int16{pgtype.BinaryFormatCode}, len(fields)), rows.add); err != nil {
		return err
	}
	arrays := pgproto3.Bind{ParameterFormatCodes: []int16{pgtype.BinaryFormatCode}}
	var oids []uint32
	for i, f := range fields {
		arrays.Parameters, oids = append(arrays.Parameters, rows.array(i, f.DataTypeOID)), append(oids, types[i].array)
	}
	request := encode(executeRequest(nil, declareSQL(c, scroll, fields, types), oids, arrays), &pgproto3.Sync{})
	if _, err := b.askBy(ctx, request); err != nil {
		return r.notHanded(err)
	}
	r.acknowledge("DECLARE CURSOR")
	return nil
}

// notHanded lets PostgreSQL have the DECLARE itself where it refused something about the cursor, unless that has failed
// the block.
func (r *run) notHanded(err error) error {
	var e *Error
	if r.status == txOpen || !errors.As(err, &e) || e.fatal {
		return err
	}
	return &RelayError{Reason: "PostgreSQL refused the cursor", Code: e.Code, Err: err}
}

// columnType is the type of a cursor's column.
type columnType struct {
	name  string // with its modifier
	array uint32 // of the type's arrays
}

// columnTypes asks for the types of the columns of a cursor that there must not be yet.
func (b *backend) columnTypes(ctx context.Context, cursor string, fields []pgproto3.FieldDescription) ([]columnType, error) {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = fmt.Sprintf("(%d, %d, %d)", i, f.DataTypeOID, f.TypeModifier)
	}
	rows, err := b.ask(ctx, columnTypesSQL(cursor, columns))
	if err != nil {
		return nil, err
	}
	types := make([]columnType, len(rows))
	for i, row := range rows {
		if string(row[2]) == "t" {
			return nil, &RelayError{Reason: "there is a cursor of the name", Code: codeDuplicateCursor}
		}
		array, err := strconv.ParseUint(string(row[1]), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the array type of a cursor's column of type %s: %w", row[0], err)
		}
		types[i] = columnType{name: string(row[0]), array: uint32(array)}
	}
	if len(types) != len(fields) || slices.ContainsFunc(types, func(t columnType) bool { return t.array == 0 }) {
		return nil, &RelayError{Reason: "a column of the cursor is of a type without arrays"}
	}
	return types, nil
}

func columnTypesSQL(cursor string, columns []string) string {
	return "SELECT pg_catalog.format_type(t.oid, c.modifier), t.typarray," +
		" EXISTS (SELECT FROM pg_catalog.pg_cursors WHERE name OPERATOR(pg_catalog.=)" + Quote(cursor) + ") FROM (VALUES " + strings.Join(columns, ", ") +
		") AS c(number, type, modifier) JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) c.type::pg_catalog.oid ORDER BY c.number"
}

// scrollOf asks whether PostgreSQL's cursor of the query could go back: that depends on its plan. Closed in the same
// transaction, the cursor reads nothing.
func (b *backend) scrollOf(ctx context.Context, e *execution) (string, error) {
	const name = "_freshet_cursor"
	var oids []uint32
	if e.extended() {
		oids = e.statement.oids
	}
	request := executeRequest(nil, "DECLARE "+name+" CURSOR WITH HOLD FOR "+e.text(), oids, e.bind)
	request = executeRequest(request, "SELECT is_scrollable FROM pg_catalog.pg_cursors WHERE name OPERATOR(pg_catalog.=) '"+name+"'", nil, pgproto3.Bind{})
	request = executeRequest(request, "CLOSE "+name, nil, pgproto3.Bind{})
	rows, err := b.askBy(ctx, encode(request, &pgproto3.Sync{}))
	switch {
	case err != nil:
		return "", err
	case len(rows) == 1 && string(rows[0][0]) == "t":
		return "SCROLL", nil
	}
	return "NO SCROLL", nil
}

// declareSQL declares the cursor of a DECLARE for rows that are parameters: an array for each column.
func declareSQL(c *class, scroll string, fields []pgproto3.FieldDescription, types []columnType) string {
	var list, arrays, names []string
	for i, f := range fields {
		name := "c" + strconv.Itoa(i+1)
		list = append(list, name+"::"+types[i].name+" AS "+quoteName(string(f.Name)))
		arrays = append(arrays, "pg_catalog.unnest($"+strconv.Itoa(i+1)+")")
		names = append(names, name)
	}
	binary, hold := "", ""
	if c.Binary {
		binary = "BINARY "
	}
	if c.Holds {
		hold = "WITH HOLD "
	}
	return "DECLARE " + quoteName(c.Cursor) + " " + binary + scroll + " CURSOR " + hold + "FOR SELECT " + strings.Join(list, ", ") +
		" FROM ROWS FROM (" + strings.Join(arrays, ", ") + ") AS replica(" + strings.Join(names, ", ") + ")"
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

// columns are rows by column.
type columns struct {
	values [][]byte // of each column: lengths and bytes, as in DataRow messages and in arrays
	rows   int
	size   int // of the rows' messages
}

// add adds rows in binary format.
func (c *columns) add(rows datarow.Rows) error {
	if c.size += len(rows.Messages()); c.size > maxHanded {
		return &RelayError{Reason: "its rows are too many for a cursor that PostgreSQL is handed"}
	}
	c.rows += rows.Len()
	for row := range rows.Values() {
		for i, v := range row {
			length := uint32(len(v))
			if v == nil {
				length = 1<<32 - 1
			}
			c.values[i] = append(binary.BigEndian.AppendUint32(c.values[i], length), v...)
		}
	}
	return nil
}

// array is a column as PostgreSQL's array of the given type of elements, in binary format.
func (c *columns) array(column int, element uint32) []byte {
	const mayHaveNulls, firstIndex = 1, 1
	dimensions := min(uint32(c.rows), 1)
	head := binary.BigEndian.AppendUint32(nil, dimensions)
	head = binary.BigEndian.AppendUint32(head, mayHaveNulls)
	head = binary.BigEndian.AppendUint32(head, element)
	if dimensions > 0 {
		head = binary.BigEndian.AppendUint32(head, uint32(c.rows))
		head = binary.BigEndian.AppendUint32(head, firstIndex)
	}
	return append(head, c.values[column]...)
}
