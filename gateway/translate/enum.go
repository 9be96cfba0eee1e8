package translate

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// EnumRef is a type that may be an enumeration: by the name that a statement or a view has for it, or by its OID.
type EnumRef struct {
	// Schema is empty where the search path decides, which it does in statements only.
	Schema, Name string
	// OID is that of the type, or of the type of its arrays; 0: the name counts.
	OID uint32
}

// Enum is an enumeration.
type Enum struct {
	OID    uint32
	Labels map[string]bool
	// Version is another one once a label was added or renamed.
	Version string
}

// firstUserOID is the lowest that PostgreSQL gives to what a user defines (FirstNormalObjectId).
const firstUserOID = 16384

// enum is the enumeration that a type is; nil: it is none.
func (t *translator) enum(ref EnumRef) *Enum {
	if t.env.Dialect != PostgreSQL || ref.Name == "" && ref.OID < firstUserOID {
		return nil
	}
	found, known := t.env.Enums[ref]
	if !known {
		panic(&Unsupported{Reason: "values of a type that is not built in", Enum: &ref})
	}
	return found
}

// enumNamed is the enumeration of a name; nil: it is of none, or of a type that is built in.
func (t *translator) enumNamed(n *pg.TypeName) *Enum {
	names := syntax.Strings(n.Names)
	if len(names) == 0 || len(names) > 2 || len(n.ArrayBounds) > 0 || len(n.Typmods) > 0 || n.Setof || n.PctType {
		return nil
	}
	ref := EnumRef{Name: names[len(names)-1]}
	if len(names) == 2 {
		ref.Schema = names[0]
	}
	switch _, builtIn := typeNames[ref.Name]; {
	case ref.Schema == "pg_catalog", ref.Schema == "" && (builtIn || t.inside != nil):
		return nil
	}
	return t.enum(ref)
}

// label is a label of the enumeration. What is none is an error of PostgreSQL's.
func (e *Enum) label(s string) expr {
	if !e.Labels[s] {
		fail("text that is no label of the enumeration")
	}
	return e.described(textLiteral(e.OID, s))
}

func (e *Enum) described(x expr) expr {
	x.oid, x.opaque, x.enum = e.OID, true, true
	return x
}

func (e *Enum) cast(x expr) expr {
	if text, ok := x.constantText(); ok && isText(x.oid) { // JDBC binds strings as varchar
		return e.label(text)
	}
	switch {
	case x.isNull():
		return e.described(nullOf(e.OID))
	case x.isUnknown():
		return e.label(*x.lit.text)
	case !x.enum || x.oid != e.OID:
		fail("cast to this type")
	}
	return x
}

// param is a parameter of the enumeration, whose value is its label in both of the protocol's formats.
func (e *Enum) param(p Param) expr {
	if p.Null {
		return e.described(nullOf(e.OID))
	}
	return e.label(string(p.Value))
}

// enumArray is a parameter that is an array of an enumeration; false: it is none.
func (t *translator) enumArray(p Param, oid uint32) (array, bool) {
	e := t.enum(EnumRef{OID: oid})
	if e == nil {
		return array{}, false
	}
	a := array{null: p.Null, oid: e.OID}
	if p.Null {
		return a, true
	}
	value := p.Value
	if p.Format == pgtype.TextFormatCode {
		value = plainArray(string(value))
	} else {
		requireElements(value, e.OID)
	}
	for _, v := range arrayElements(value, p.Format) {
		a.elements = append(a.elements, e.param(Param{Null: v == nil, Value: v}))
	}
	return a, true
}

// mostOrdered is how many labels an enumeration may have whose order is asked for: all are listed wherever it is.
const mostOrdered = 500

// order lists the labels of an enumeration in its order, as a table has them that the statement reads.
func (t *translator) order(oid uint32) []string {
	if elementOf(oid) != 0 {
		fail("order of arrays")
	}
	for _, s := range t.sources {
		labels := s.table.Enums[oid]
		if len(labels) > mostOrdered {
			fail("order of an enumeration of so many labels")
		}
		if len(labels) > 0 {
			if t.ordered == nil {
				t.ordered = map[uint32][]string{}
			}
			t.ordered[oid] = labels
			return labels
		}
	}
	fail("order of an enumeration that no table of the statement has")
	return nil
}

// requireOrders makes sure that each order is that of a table which the plan reads: it is in force as long as the table has its version.
func (t *translator) requireOrders(relations []Relation) {
	for oid, labels := range t.ordered {
		if !slices.ContainsFunc(relations, func(r Relation) bool { return slices.Equal(r.Table.Enums[oid], labels) }) {
			fail("order of an enumeration that no table of the statement has")
		}
	}
}

// position is the place that a value of an enumeration has in its order, from 1 on.
func (t *translator) position(e expr) expr {
	labels := t.order(e.oid)
	if e.isNull() {
		return nullOf(oidInt4)
	}
	if label, ok := e.constantText(); ok {
		i := slices.Index(labels, label)
		if i < 0 {
			fail("text that is no label of the enumeration")
		}
		return integerLiteral(oidInt4, big.NewInt(int64(i+1)))
	}
	requirePresent(e)
	otherwise := "toInt32(0)" // which no label is, as long as the order is in force
	if e.null {
		otherwise = "NULL"
	}
	names, places := placed(labels)
	return with(oidInt4, fmt.Sprintf("transform(%s, %s, %s, %s)", e.sql, names, places, otherwise), e)
}

func (t *translator) positions(all []expr) []expr {
	out := make([]expr, len(all))
	for i, e := range all {
		out[i] = t.position(e)
	}
	return out
}

// atPosition is the value at a place in the order of the enumeration that another value is of.
func (t *translator) atPosition(place, like expr) expr {
	names, places := placed(t.order(like.oid))
	out := with(like.oid, fmt.Sprintf("transform(%s, %s, %s, NULL)", place.sql, places, names), place)
	out.opaque, out.enum = true, true
	return out
}

// placed are labels and their places as arrays.
func placed(labels []string) (names, places string) {
	quoted, numbers := make([]string, len(labels)), make([]string, len(labels))
	for i, l := range labels {
		quoted[i], numbers[i] = quote(l), strconv.Itoa(i+1)
	}
	return "[" + strings.Join(quoted, ", ") + "]", "CAST([" + strings.Join(numbers, ", ") + "], 'Array(Int32)')"
}
