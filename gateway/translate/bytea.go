package translate

import (
	"encoding/hex"
	"fmt"
	"strings"
)

func byteaLiteral(raw []byte) expr {
	return expr{sql: fmt.Sprintf("unhex('%x')", raw), oid: oidBytea, pad: -1}
}

// parseBytea reads the hex format, without the blanks that PostgreSQL allows between its bytes.
func parseBytea(s string) (expr, bool) {
	digits, ok := strings.CutPrefix(s, `\x`)
	raw, err := hex.DecodeString(digits)
	return byteaLiteral(raw), ok && err == nil
}

// mostEncoded is how many bytes PostgreSQL writes in base64 without a line break.
const mostEncoded = 56

// encode writes a bytea in hexadecimal digits or in base64.
func encode(_ *query, _ string, args []expr) expr {
	x := args[0]
	format, ok := args[1].constantText()
	if !ok || x.oid != oidBytea {
		fail("encode of this type, or in a format that is not constant")
	}
	switch strings.ToLower(format) {
	case "hex":
		return with(oidText, "lower(hex("+x.sql+"))", x)
	case "base64":
		return with(oidText, once(x.sql, func(x string) string {
			return guarded("base64Encode("+x+")", fmt.Sprintf("length(%s) > %d", x, mostEncoded), "base64 of several lines")
		}), x)
	}
	fail("encode in this format")
	return expr{}
}
