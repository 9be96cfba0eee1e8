package translate

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/finish"
)

// kinds maps types to how finish writes them.
var kinds = map[uint32]finish.Kind{
	oidBool: finish.Bool, oidInt2: finish.Int16, oidInt4: finish.Int32, oidInt8: finish.Int64,
	oidFloat4: finish.Float32, oidFloat8: finish.Float64, oidText: finish.String, oidVarchar: finish.String,
	oidName: finish.String, oidBpchar: finish.Char, oidNumeric: finish.Numeric, oidDate: finish.Date,
	oidTimestamp: finish.Timestamp, oidTimestampTZ: finish.TimestampTZ, oidTime: finish.Time, oidUUID: finish.UUID,
	oidBytea: finish.Bytea, oidInterval: finish.Interval,
}

// modified are types with modifiers, which a result's description has.
var modified = []uint32{oidNumeric, oidVarchar, oidBpchar, oidTimestamp, oidTimestampTZ, oidTime}

// output translates the statement for the client and compares it with PostgreSQL's own description.
func (t *translator) output(p *Plan, s *pg.SelectStmt) string {
	r := t.selectStmt(s, nil, readByClient)
	if len(r.columns) != len(t.env.Fields) {
		fail("result of another number of columns than PostgreSQL describes")
	}
	for i, c := range r.columns {
		f := t.env.Fields[i]
		if f.TypeOID != c.e.oid {
			fail("result of another type than PostgreSQL describes")
		}
		if c.e.simplified && f.Modifier < 0 && slices.Contains(modified, c.e.oid) {
			fail("result whose type modifier PostgreSQL finds as it plans")
		}
		if c.e.table != 0 && f.TableOID != 0 && (uint32(c.e.table) != f.TableOID || c.e.attr != f.Attr) {
			fail("result column of another origin than PostgreSQL describes")
		}
		if c.e.oid == oidTimestampTZ && !finish.IsUTC(t.env.TimeZone) {
			t.zone(t.env.TimeZone)
		}
		p.Output = append(p.Output, finishColumn(c.e, f))
		if x := c.e.extreme; x != nil {
			if t.sort == nil {
				t.sort = &finish.Sort{}
			}
			t.sort.Extremes = append(t.sort.Extremes, finish.Extreme{Column: i, Collation: x.Collation, Greatest: x.Greatest})
		}
	}
	return r.sql
}

func finishColumn(e expr, f Field) finish.Column {
	c := finish.Column{Name: f.Name, Type: f.TypeOID, Kind: kinds[e.oid], Pad: e.pad}
	switch r := e.quotient(); {
	case r != nil && r.spread != 0:
		c.Quotient = &finish.Quotient{Dividend: operand(r.dividend), Divisor: operand(r.divisor), Spread: r.spread}
	case e.opaque && e.oid == oidInterval:
		c.Kind = finish.IntervalSum
	case e.opaque:
		c.Kind = finish.String
		switch {
		case e.oid == oidNumeric:
			c.Kind = finish.OpaqueNumeric
		case e.oid == pgtype.Float8ArrayOID:
			c.Kind = finish.Floats
		case elementOf(e.oid) != 0 || shownArrays[e.oid]:
			c.Kind = finish.Array
		}
	case e.oid == oidNumeric:
		if e.dec.display == displayUnknown {
			fail("numeric whose display scale is not known")
		}
		c.Scale, c.Wide, c.Display = e.dec.scale, isWide(e), e.dec.display
		if r != nil {
			c.Quotient = &finish.Quotient{Dividend: operand(r.dividend), Divisor: operand(r.divisor)}
		}
	case e.oid == oidBpchar && e.pad < 0:
		withBlanks(e) // which topItem writes, are known
		c.Kind = finish.String
	case c.Kind == 0:
		fail("result of this type")
	case e.oid == oidInterval && e.lit != nil:
		fail("interval constant as a result")
	}
	return c
}

func operand(e expr) finish.Operand {
	return finish.Operand{Scale: e.dec.scale, Display: e.dec.display}
}

func isWide(e expr) bool { return e.dec.precision() > 18 }

func (t *translator) topName(i int) string { return "c" + strconv.Itoa(i+1) }

// topItem writes an output column in the type that package finish expects.
func (t *translator) topItem(e expr, i int) string {
	if i >= len(t.env.Fields) {
		fail("result of another number of columns than PostgreSQL describes")
	}
	c := finishColumn(e, t.env.Fields[i])
	types, name := c.EngineTypes(), t.topName(i)
	var parts []string
	for _, v := range engineValues(e) {
		parts = append(parts, "CAST("+v+", 'Nullable("+types[len(parts)]+")') AS "+name+suffixes[len(parts)])
	}
	return strings.Join(parts, ", ")
}

// suffixes name the engine columns of one output column.
var suffixes = []string{"", "s", "t", "u"}

// engineValues are what finish computes a column from, in the order of [finish.Column.EngineTypes].
func engineValues(e expr) []string {
	operands := []expr{e}
	if r := e.quotient(); r != nil {
		operands = []expr{r.dividend, r.divisor}
	}
	var values []string
	for _, o := range operands {
		value := o.sql
		if o.oid == oidBpchar && o.pad < 0 {
			value = withBlanks(o)
		}
		values = append(values, value)
		if o.displaysByRow() {
			values = append(values, o.dec.displaySQL)
		}
	}
	return values
}

// bound finds a parameter.
func (t *translator) bound(number int32) Param {
	i := int(number) - 1
	if i < 0 || i >= len(t.env.Params) || i >= len(t.env.ParamOIDs) {
		fail("parameter that is not bound")
	}
	return t.env.Params[i]
}

func (t *translator) paramType(number int32) uint32 {
	_ = t.bound(number)
	return t.env.ParamOIDs[number-1]
}

// param makes a constant of a bound parameter.
func (t *translator) param(number int32) expr {
	p, oid := t.bound(number), t.paramType(number)
	if enum := t.enum(EnumRef{OID: oid}); enum != nil {
		return enum.param(p)
	}
	if p.Null {
		return nullOf(oid)
	}
	return t.boundValue(p.Format, p.Value, oid)
}

// boundValue makes a constant of a value in one of the protocol's formats.
func (t *translator) boundValue(format int16, v []byte, oid uint32) expr {
	if format == 0 {
		return t.parseLiteral(string(v), oid)
	}
	integer := func(n int64) expr { return integerLiteral(oid, big.NewInt(n)) }
	switch {
	case oid == oidBool && len(v) == 1:
		return boolLiteral(v[0] != 0)
	case oid == oidInt2 && len(v) == 2:
		return integer(int64(int16(binary.BigEndian.Uint16(v))))
	case oid == oidInt4 && len(v) == 4:
		return integer(int64(int32(binary.BigEndian.Uint32(v))))
	case oid == oidInt8 && len(v) == 8:
		return integer(int64(binary.BigEndian.Uint64(v)))
	case oid == oidUUID && len(v) == 16:
		return uuidLiteral(v)
	case oid == oidBytea:
		return byteaLiteral(v)
	case oid == oidFloat4 && len(v) == 4:
		return floatBound(oid, float64(math.Float32frombits(binary.BigEndian.Uint32(v))), 32)
	case oid == oidFloat8 && len(v) == 8:
		return floatBound(oid, math.Float64frombits(binary.BigEndian.Uint64(v)), 64)
	case oid == oidTime && len(v) == 8:
		e := integer(int64(binary.BigEndian.Uint64(v)))
		if e.lit.integer.Sign() < 0 || e.lit.integer.Int64() >= microsPerDay {
			fail("end of the day as a time")
		}
		return e
	case oid == oidInterval && len(v) == 16:
		i := interval{
			months: int64(int32(binary.BigEndian.Uint32(v[12:]))), days: int64(int32(binary.BigEndian.Uint32(v[8:]))), micros: int64(binary.BigEndian.Uint64(v)),
		}
		if i.micros == math.MinInt64 || !i.fits() {
			fail("interval out of range")
		}
		return intervalLiteral(i)
	case oid == oidName && len(v) > nameBytes:
		fail("a name that is too long") // which PostgreSQL takes as text only
	case isString(oid):
		return t.parseLiteral(string(v), oid)
	case oid == oidNumeric:
		return numericParam(v)
	case oid == oidDate && len(v) == 4:
		days := int32(binary.BigEndian.Uint32(v))
		if days < -2451545 || days > 2145031948 { // infinity, or a day that PostgreSQL refuses
			fail("date constant out of range")
		}
		return integer(int64(days) + 10957)
	case (oid == oidTimestamp || oid == oidTimestampTZ) && len(v) == 8:
		micros := int64(binary.BigEndian.Uint64(v))
		if absolute(micros/microsPerDay) > lastDay {
			fail("timestamp constant out of range")
		}
		return integer(micros + 10957*microsPerDay)
	}
	fail("binary parameter of %s", typeName(oid))
	return expr{}
}

// floatBound makes a constant of a bound float, in the digits that stand for it alone.
func floatBound(oid uint32, v float64, bits int) expr {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		fail("NaN or infinity as a parameter")
	}
	return floatLiteral(oid, v, strconv.FormatFloat(v, 'g', -1, bits))
}

// numericParam reads the binary format of a numeric: base-10000 digits, and a display scale.
func numericParam(v []byte) expr {
	if len(v) < 8 {
		fail("binary parameter of type numeric")
	}
	digits, weight := int(binary.BigEndian.Uint16(v)), int(int16(binary.BigEndian.Uint16(v[2:])))
	sign, scale := binary.BigEndian.Uint16(v[4:]), int(binary.BigEndian.Uint16(v[6:]))
	if len(v) != 8+2*digits || sign != 0 && sign != 0x4000 || digits > 40 || weight > 20 || scale > 60 {
		fail("binary parameter of type numeric")
	}
	unscaled := new(big.Int)
	for i := range digits {
		digit := int64(binary.BigEndian.Uint16(v[8+2*i:]))
		if digit >= 10000 {
			fail("binary parameter of type numeric")
		}
		unscaled.Mul(unscaled, big.NewInt(10000))
		unscaled.Add(unscaled, big.NewInt(digit))
	}
	// The last digit stands for 10000^exponent.
	exponent := weight - digits + 1
	if exponent > 0 {
		unscaled.Mul(unscaled, pow10(4*exponent))
		exponent = 0
	}
	if sign != 0 {
		unscaled.Neg(unscaled)
	}
	n := number{unscaled, -4 * exponent}
	if scale < n.scale { // PostgreSQL drops the digits that the scale hides
		n = number{unscaled.Quo(unscaled, pow10(n.scale-scale)), scale}
	}
	return numericLiteral(n.rescale(scale))
}

// describe is what a subquery's output column of that name holds when it is computed by e.
func describe(e expr, name string) expr {
	d := e
	d.sql, d.lit, d.blanks = name, nil, nil
	if e.lit != nil && e.lit.integer != nil && isInteger(e.oid) { // which spares guards
		n := e.lit.integer.Int64()
		d.nonzero, d.bounded, d.low, d.high = n != 0, true, n, n
	}
	if e.hasBlanks() {
		d.blanks = &blanks{name, name + "b"}
	}
	if d.oid == oidNumeric && d.dec.display == displayDynamic {
		d.dec.displaySQL = name + "s"
	}
	return d
}

// columnText is a value as a query selects it.
func (e expr) columnText() string {
	if e.lit != nil {
		return e.typed()
	}
	return e.sql
}

// selectItem writes an output column, with its display scale, or its text with blanks, in a second one where that differs by row.
func selectItem(e expr, name string) string {
	item := e.columnText() + " AS " + name
	if e.displaysByRow() {
		item += ", " + e.dec.displaySQL + " AS " + name + "s"
	}
	if e.hasBlanks() {
		item += ", " + e.blanks.text + " AS " + name + "b"
	}
	return item
}
