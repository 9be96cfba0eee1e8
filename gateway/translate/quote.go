package translate

// quoteLiteral is quote_literal or quote_nullable: a text as SQL writes it.
func quoteLiteral(q *query, name string, args []expr) expr {
	x := args[0]
	switch {
	case x.isNull():
		return textLiteral(oidText, "NULL")
	case x.isUnknown() || isString(x.oid):
		x = q.asText(x)
	default:
		x = q.castToText(x)
	}
	e := with(oidText, once(x.sql, func(x string) string {
		doubled := "replaceRegexpAll(" + x + ", " + quote(`(['\\])`) + ", " + quote(`\1\1`) + ")"
		return "concat(if(position(" + x + `, '\\') > 0, 'E', ''), '\'', ` + doubled + `, '\'')`
	}), x)
	if name == "quote_nullable" && e.null {
		e.sql, e.null = "ifNull("+e.sql+", 'NULL')", false
	}
	return e
}
