package server_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

func TestGateway_readsBytesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE blob (id int PRIMARY KEY, o bytea, p bytea NOT NULL);
INSERT INTO blob SELECT i, CASE WHEN i % 6 > 0 THEN decode(repeat(lpad(to_hex(i * 7 % 256), 2, '0'), i % 57), 'hex') END, decode(md5((i % 9)::text), 'hex') FROM generate_series(1, 200) i;
INSERT INTO blob VALUES (-1, '', ''), (-2, '\x00', '\x5c27'), (-3, '\xff00', '\xff')`).routes()
	for _, sql := range []string{
		"SELECT id, encode(o, 'hex'), encode(o, 'BASE64'), length(o), octet_length(p), md5(o), left(encode(p, 'hex'), 5), encode(coalesce(o, p), 'hex') FROM blob ORDER BY id",
		`SELECT id FROM blob WHERE o = '\x00' OR p IN ('\xFF', '\x5c27') OR o < '\x00' OR o BETWEEN '\xfe' AND '\xff' OR o IS NOT DISTINCT FROM '\x15' ORDER BY id`,
		`SELECT id, o = '\x', coalesce(o, '\x01'), nullif(p, '\xff'), CASE WHEN id > 5 THEN o ELSE '\x0001'::bytea END FROM blob ORDER BY id`,
		"SELECT encode(p, 'hex'), count(*), count(DISTINCT o) FROM blob GROUP BY p ORDER BY p", "SELECT DISTINCT p FROM blob ORDER BY 1", "SELECT a.id, b.id FROM blob a JOIN blob b ON a.o = b.p ORDER BY 1, 2",
		"SELECT count(*) FROM blob WHERE encode(p, 'hex') LIKE 'c%'",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
	for _, value := range []string{"", "\x00", "\xff\x00", `\x00`} {
		for format, bound := range []string{fmt.Sprintf(`\x%x`, value), value} {
			var counts []string
			for _, c := range []*pgx.Conn{oltp, columnar} {
				r := c.PgConn().ExecParams(t.Context(), "SELECT count(*) FROM blob WHERE o = $1", [][]byte{[]byte(bound)}, []uint32{pgtype.ByteaOID}, []int16{int16(format)}, nil).Read()
				if r.Err != nil {
					t.Fatalf("%q in format %d: %v", value, format, r.Err)
				}
				counts = append(counts, string(r.Rows[0][0]))
			}
			if counts[0] != counts[1] {
				t.Errorf("%q in format %d: %s rows, PostgreSQL says %s", value, format, counts[1], counts[0])
			}
		}
	}
}
