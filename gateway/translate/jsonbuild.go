package translate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/replica/document"
	"github.com/freshet-io/freshet/gateway/finish"
)

// A jsonWriter writes values into a json, as PostgreSQL writes that, or into a jsonb, in the form in which documents are stored.
type jsonWriter struct {
	q   *query
	oid uint32
}

// jsonBuilders are the functions that make a json or a jsonb of their arguments, and the type that they make.
var jsonBuilders = map[string]uint32{
	"json_build_object": oidJSON, "json_build_array": oidJSON, "to_json": oidJSON, "row_to_json": oidJSON,
	"jsonb_build_object": oidJSONB, "jsonb_build_array": oidJSONB, "to_jsonb": oidJSONB,
}

// jsonBuild translates a call of one of the builders.
func (q *query) jsonBuild(name string, args []*pg.Node) expr {
	w := jsonWriter{q, jsonBuilders[name]}
	switch name {
	case "json_build_array", "jsonb_build_array":
		values := w.values(args)
		return w.of(w.array(values), values)
	case "json_build_object", "jsonb_build_object":
		return w.object(args)
	}
	if len(args) != 1 {
		fail("%s of several arguments", name)
	}
	v := w.value(args[0])
	if name == "row_to_json" && v.oid != oidRecord || v.isUnknown() || v.isNull() {
		fail("%s over this type", name)
	}
	e := w.of(w.text(v), []expr{v})
	if v.null && v.oid != oidRecord {
		e.sql, e.null = "if(isNull("+v.sql+"), NULL, "+e.sql+")", true
	}
	return e
}

// of describes a json that is made of operands. It is never NULL.
func (w jsonWriter) of(sql string, operands []expr) expr {
	e := with(w.oid, sql, operands...)
	e.null, e.opaque, e.costly = false, true, true
	return e
}

// value is an expression, or a row that is named by its relation, whose text stands for it.
func (w jsonWriter) value(n *pg.Node) expr {
	if made := w.q.rowMadeBy(n); made != nil {
		return w.madeRow(made)
	}
	it := w.q.rowOf(n)
	if it == nil {
		return w.q.value(n)
	}
	var members []jsonMember
	var columns []expr
	for _, c := range it.columns {
		if isAdded(c.name) {
			continue
		}
		e := w.q.seen(c)
		members, columns = append(members, jsonMember{c.name, w.inside(e)}), append(columns, e)
	}
	e := w.of(w.members(members, `":`, ","), columns)
	e.oid = oidRecord
	return e
}

func (w jsonWriter) values(nodes []*pg.Node) []expr {
	out := make([]expr, len(nodes))
	for i, n := range nodes {
		out[i] = resolveUnknown(w.value(n))
	}
	return out
}

// rowName is the name by which an expression means a row of a relation; !ok: it is another expression.
func (q *query) rowName(n *pg.Node) (name string, ok bool) {
	fields := n.GetColumnRef().GetFields()
	if len(fields) == 0 || len(fields) > 2 || fields[0].GetString_() == nil || len(fields) == 2 && fields[1].GetAStar() == nil {
		return "", false
	}
	name = fields[0].GetString_().Sval
	if len(fields) == 1 && q.showsColumn(name) {
		return "", false
	}
	return name, true
}

// rowOf is the relation whose rows an expression means by its name; nil: it is another expression.
func (q *query) rowOf(n *pg.Node) *item {
	name, ok := q.rowName(n)
	if !ok {
		return nil
	}
	it := q.scope.item("", name)
	if it != nil && it.scalar {
		return nil
	}
	if it == nil || !it.whole {
		fail("row of this relation")
	}
	return it
}

// showsColumn reports whether a name by itself is a column's, here or in a query around.
func (q *query) showsColumn(name string) bool {
	for around := q; around != nil; around = around.parent {
		if slices.ContainsFunc(around.scope.visible, func(c *column) bool { return c.name == name }) {
			return true
		}
	}
	return false
}

// present is the text of a value in a json, that of a NULL as well.
func (w jsonWriter) present(e expr) string {
	switch {
	case e.isNull():
		return "'null'"
	case e.null:
		return "ifNull(" + w.text(e) + ", 'null')"
	}
	return w.text(e)
}

// text is that of a value in a json; NULL where the value is.
func (w jsonWriter) text(e expr) string {
	q := w.q
	switch {
	case e.oid == oidRecord || e.oid == oidJSON && w.oid == oidJSON:
		return e.sql
	case e.oid == oidJSONB && w.oid == oidJSONB:
		return e.sql
	case e.oid == oidJSONB:
		return writtenJSON(e.sql)
	case e.enum && elementOf(e.oid) == 0:
		return w.quoted(e.sql)
	case e.opaque:
		fail("json of this type")
	}
	switch e.oid {
	case oidBool:
		return q.castToText(e).sql
	case oidInt2, oidInt4, oidInt8, oidNumeric:
		return q.written(e).sql
	case oidDate, oidTime, oidUUID:
		return "concat('\"', " + q.written(e).sql + ", '\"')"
	case oidTimestamp:
		return "concat('\"', replaceOne(" + q.timestampText(e) + ", ' ', 'T'), '\"')"
	case oidTimestampTZ:
		offset := "'+00:00'"
		if !finish.IsUTC(q.t.env.TimeZone) {
			offset = once(offsetAt(q.t.zone(q.t.env.TimeZone), e.sql), offsetText)
			offset = once(offset, func(text string) string {
				return "if(length(" + text + ") = 3, concat(" + text + ", ':00'), " + text + ")"
			})
		}
		return "concat('\"', replaceOne(" + q.timestampText(q.clocked(e)) + ", ' ', 'T'), " + offset + ", '\"')"
	case oidText, oidVarchar, oidName, oidBpchar:
		return w.quoted(q.written(e).sql)
	}
	fail("json of this type")
	return ""
}

// quoted is a text as a string of a json.
func (w jsonWriter) quoted(text string) string {
	special := `["\\\x00-\x1f]`
	escapes := [][2]string{{`\`, `\\`}, {`"`, `\"`}}
	if w.oid == oidJSONB {
		special = `["\\\x00-\x1f\[{]|^:| :`
		escapes = [][2]string{{`\`, storedEscape(`\\`)}, {`"`, storedEscape(`\"`)}, {"[", storedEscape("[")}, {"{", storedEscape("{")}, {" :", " " + storedEscape(":")}}
	}
	escapes = append(escapes, [2]string{"\n", `\n`}, [2]string{"\r", `\r`}, [2]string{"\t", `\t`}, [2]string{"\b", `\b`}, [2]string{"\f", `\f`})
	sql := once(text, func(text string) string {
		escaped := text
		for _, e := range escapes {
			escaped = "replaceAll(" + escaped + ", " + quote(e[0]) + ", " + quote(e[1]) + ")"
		}
		if w.oid == oidJSONB {
			escaped = "replaceRegexpOne(" + escaped + ", '^:', " + quote(strings.ReplaceAll(storedEscape(":"), `\`, `\\`)) + ")"
		}
		others := "arrayStringConcat(arrayMap(c -> if(c < ' ', concat(" + quote(`\u00`) + ", lower(hex(c))), c), splitByString('', " + escaped + ")))"
		return "multiIf(isNull(" + text + "), NULL, NOT match(" + text + ", " + quote(special) + "), " + text + ", NOT match(" + text + ", " + quote(`[\x01-\x07\x0b\x0e-\x1f]`) + "), " + escaped + ", " + others + ")"
	})
	return "concat('\"', " + sql + ", '\"')"
}

// storedEscape is how a document is stored with what PostgreSQL writes so in strings.
func storedEscape(written string) string {
	for stored, w := range document.Escapes {
		if w == written {
			return stored
		}
	}
	return written
}

// jsonMember is a member of an object: its key and the text of its value.
type jsonMember struct{ key, text string }

// object is json_build_object or jsonb_build_object.
func (w jsonWriter) object(args []*pg.Node) expr {
	if len(args)%2 != 0 || len(args) == 0 {
		fail("json object of such arguments")
	}
	var members []jsonMember
	var operands []expr
	for i := 0; i < len(args); i += 2 {
		key, ok := w.q.value(args[i]).constantText()
		if !ok {
			fail("key of a json object that is not a constant text")
		}
		v := resolveUnknown(w.value(args[i+1]))
		members, operands = append(members, jsonMember{key, w.inside(v)}), append(operands, v)
	}
	return w.of(w.members(members, `" : `, ", "), operands)
}

// members is the text of an object. A jsonb has its keys in an order of its own, and each of them once.
func (w jsonWriter) members(members []jsonMember, colon, comma string) string {
	if w.oid == oidJSONB {
		slices.SortStableFunc(members, func(a, b jsonMember) int {
			return cmp.Or(cmp.Compare(len(a.key), len(b.key)), strings.Compare(a.key, b.key))
		})
		colon, comma = `":`, ", "
	}
	parts := []string{"'{'"}
	for i, m := range members {
		if i > 0 && w.oid == oidJSONB && members[i-1].key == m.key {
			fail("jsonb object with a key twice")
		}
		start := `"` + w.key(m.key) + colon
		if i > 0 {
			start = comma + start
		}
		parts = append(parts, quote(start), m.text)
	}
	return "concat(" + strings.Join(append(parts, "'}'"), ", ") + ")"
}

// array is the text of an array.
func (w jsonWriter) array(values []expr) string {
	parts := []string{"'['"}
	for i, v := range values {
		if i > 0 {
			parts = append(parts, "', '")
		}
		parts = append(parts, w.inside(v))
	}
	return "concat(" + strings.Join(append(parts, "']'"), ", ") + ")"
}

// inside is the text of a value, that of a NULL as well, that comes into an object or an array: the keys of a stored
// document have a blank more in there.
func (w jsonWriter) inside(e expr) string {
	text := w.present(e)
	if w.oid == oidJSONB && (e.oid == oidJSONB || e.oid == oidRecord) && !e.isNull() {
		return "replaceAll(replaceAll(" + text + ", ' :', '  :'), '\":', '\" :')"
	}
	return text
}

// key is how a constant key is written between its quotes.
func (w jsonWriter) key(key string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }) || encoder.Encode(key) != nil {
		fail("key of a json object with such characters")
	}
	written := strings.TrimSuffix(b.String(), "\n")
	if w.oid == oidJSONB {
		stored, err := document.Append(nil, []byte(written))
		if err != nil {
			fail("key of a json object with such characters")
		}
		written = string(stored)
	}
	return written[1 : len(written)-1]
}
