package translate

// Translate turns the tree's single statement into a plan. The error is an [*Unsupported] when the statement has no
// proven translation in this environment.
func Translate(t *Tree, env Env) (*Plan, error) {
	if len(t.statements) != 1 || t.statements[0].Stmt.GetSelectStmt() == nil {
		return nil, unsupported("not a single query")
	}
	return nil, unsupported("query")
}
