package differential

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Reduce makes a statement smaller as long as keep says that it still shows what it is to show. It
// takes away list elements and clauses and puts operands in the place of expressions, without
// knowing SQL: keep must refuse what has become invalid. It calls keep at most limit times.
func Reduce(sql string, limit int, keep func(sql string) bool) (string, error) {
	tree, err := parse(sql)
	if err != nil {
		return "", fmt.Errorf("parse statement to reduce: %w", err)
	}
	if len(tree.Stmts) != 1 {
		return "", fmt.Errorf("reduce statement: %d statements instead of one", len(tree.Stmts))
	}
	best, shrunk := sql, false
	for k := 0; limit > 0; {
		candidate := proto.Clone(tree).(*pg.ParseResult)
		m := mutation{at: k}
		m.visit(candidate.Stmts[0].ProtoReflect())
		if !m.done && !shrunk {
			break
		}
		if !m.done { // once more: what was needed before may be needed no longer
			k, shrunk = 0, false
			continue
		}
		text, err := deparse(candidate)
		if err != nil || text == best {
			k++
			continue
		}
		limit--
		if !keep(text) {
			k++
			continue
		}
		tree, best, shrunk = candidate, text, true
	}
	return best, nil
}

// mutation makes the at-th possible change of a tree.
type mutation struct {
	at   int
	done bool
}

// chosen counts a possible change and says whether it is the one to make.
func (m *mutation) chosen() bool {
	if m.done {
		return false
	}
	m.at--
	m.done = m.at < 0
	return m.done
}

// fixed are fields without which a statement changes its meaning for reasons of its own: the order that
// LIMIT and window functions rely on, names, and what says which operator it is.
var fixed = map[protoreflect.Name]bool{
	"order_clause": true, "agg_order": true, "sort_clause": true, "names": true, "name": true, "funcname": true,
	"type_name": true, "stmt": true, "fields": true, "relation": true, "alias": true,
}

func (m *mutation) visit(message protoreflect.Message) {
	if m.done {
		return
	}
	hasLimit := false
	if s, ok := message.Interface().(*pg.SelectStmt); ok {
		hasLimit = s.LimitCount != nil || s.LimitOffset != nil
	}
	fields := message.Descriptor().Fields()
	for i := 0; i < fields.Len() && !m.done; i++ {
		f := fields.Get(i)
		if f.Kind() != protoreflect.MessageKind || !message.Has(f) {
			continue
		}
		if f.IsList() {
			m.visitList(message, f, hasLimit)
			continue
		}
		m.visitField(message, f)
	}
}

func (m *mutation) visitList(message protoreflect.Message, f protoreflect.FieldDescriptor, hasLimit bool) {
	if fixed[f.Name()] && (f.Name() != "sort_clause" || hasLimit) {
		return
	}
	list := message.Mutable(f).List()
	for i := 0; i < list.Len() && !m.done; i++ {
		if m.chosen() {
			rest := make([]protoreflect.Value, 0, list.Len())
			for j := range list.Len() {
				if j != i {
					rest = append(rest, list.Get(j))
				}
			}
			list.Truncate(0)
			for _, v := range rest {
				list.Append(v)
			}
			return
		}
		// What takes a list in each place, as VALUES does, takes nothing else: the deparser would read it as one.
		if n, ok := list.Get(i).Message().Interface().(*pg.Node); ok && n.GetList() == nil {
			for _, child := range operands(list.Get(i).Message()) {
				if m.chosen() {
					list.Set(i, protoreflect.ValueOfMessage(child))
					return
				}
			}
		}
		m.visit(list.Get(i).Message())
	}
}

func (m *mutation) visitField(message protoreflect.Message, f protoreflect.FieldDescriptor) {
	value := message.Get(f).Message()
	// The members of Node's oneof are the node itself, not a part of it.
	if f.ContainingOneof() == nil && !fixed[f.Name()] {
		if m.chosen() {
			message.Clear(f)
			return
		}
		for _, child := range operands(value) {
			if child.Descriptor() == value.Descriptor() && m.chosen() {
				message.Set(f, protoreflect.ValueOfMessage(child))
				return
			}
		}
	}
	if s, ok := value.Interface().(*pg.SelectStmt); ok && s.Larg != nil {
		for _, branch := range []*pg.SelectStmt{s.Larg, s.Rarg} {
			if m.chosen() {
				message.Set(f, protoreflect.ValueOfMessage(branch.ProtoReflect()))
				return
			}
		}
	}
	m.visit(value)
}

// operands returns the nearest nodes below a node, by which it may be replaced.
func operands(node protoreflect.Message) []protoreflect.Message {
	var found []protoreflect.Message
	var collect func(protoreflect.Message)
	collect = func(message protoreflect.Message) {
		message.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.Kind() != protoreflect.MessageKind || fixed[f.Name()]:
			case f.IsList():
				for i := range v.List().Len() {
					if e := v.List().Get(i).Message(); e.Descriptor().Name() == "Node" {
						found = append(found, e)
					}
				}
			case v.Message().Descriptor().Name() == "Node":
				found = append(found, v.Message())
			default:
				collect(v.Message())
			}
			return true
		})
	}
	collect(node)
	return found
}
