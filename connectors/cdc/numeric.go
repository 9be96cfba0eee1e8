package cdc

// NumericModifier unpacks the type modifier of a numeric: its digits in all and behind the point, of which the latter may be
// negative or more than all. It reports false for a numeric without precision.
func NumericModifier(modifier int32) (precision, scale int, ok bool) {
	const header = 4 // PostgreSQL adds VARHDRSZ
	if modifier < header {
		return 0, 0, false
	}
	m := modifier - header
	return int(m>>16) & 0xffff, int(m&0x7ff^1024) - 1024, true // the scale is an 11-bit signed number
}
