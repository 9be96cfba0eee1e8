package server_test

import (
	"strconv"
	"strings"
	"testing"
)

// The engine reads no statement with so many queries inside each other as such a list has arms.
func TestGateway_answersUnionsOfManyArms(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	columnar, oltp := g.routes()
	union := func(columns string, arms int) string {
		list := make([]string, arms)
		for i := range list {
			list[i] = "SELECT " + columns + " FROM measure WHERE part = " + strconv.Itoa(i%60)
		}
		return strings.Join(list, " UNION ALL ")
	}
	for _, sql := range []string{
		"SELECT count(*), sum(id), sum(v) FROM (" + union("id, value AS v", 150) + ") u",
		union("id, sensor, value * 2, at", 100) + " ORDER BY id LIMIT 20",
		"SELECT sum(a), sum(b) FROM (SELECT 1 AS a, 2 AS b UNION ALL " + union("id::bigint, value", 80) + ") u WHERE a > 5",
		"SELECT count(*), count(DISTINCT id) FROM (" + union("id", 70) + " UNION " + union("part", 5) + ") u",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
}
