package translate

import "strings"

// countNulls is num_nulls or num_nonnulls.
func countNulls(_ *query, name string, args []expr) expr {
	f := "isNotNull"
	if name == "num_nulls" {
		f = "isNull"
	}
	var parts []string
	for i, a := range args {
		args[i] = resolveUnknown(a)
		parts = append(parts, "toInt32("+f+"("+args[i].computed()+"))")
	}
	e := smallInteger(strings.Join(parts, " + "), 0, int64(len(args)), args...)
	e.sql, e.null = "toInt32("+e.sql+")", false
	return e
}
