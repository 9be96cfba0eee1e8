package server_test

import (
	"strings"
	"testing"
)

// A subquery is tied by values of which NULLs are alike.
func TestGateway_tiesNULLsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	places := []string{
		"SELECT id, (SELECT count(*) FROM k o WHERE @) AS v FROM k ORDER BY id", "SELECT id FROM k WHERE EXISTS (SELECT 1 FROM k o WHERE @ AND o.id > 50) ORDER BY id",
		"SELECT id FROM k WHERE NOT EXISTS (SELECT 1 FROM k o WHERE @ AND o.id < k.id) ORDER BY id", "SELECT id, (SELECT max(o.n) FROM k o WHERE @ AND o.id < k.id) AS v FROM k ORDER BY id",
		"SELECT k.id, x.id FROM k LEFT JOIN LATERAL (SELECT o.id FROM k o WHERE @ ORDER BY o.id DESC LIMIT 2) x ON true ORDER BY 1, 2", "SELECT id, (SELECT o.id FROM k o WHERE @ ORDER BY o.id LIMIT 1) AS v FROM k ORDER BY id",
		"SELECT k.id, x.c, x.s FROM k, LATERAL (SELECT count(*) AS c, sum(o.id) AS s FROM k o WHERE @) x ORDER BY 1", "SELECT id, id NOT IN (SELECT o.id + 1 FROM k o WHERE @) AS v FROM k ORDER BY id",
	}
	var statements []string
	for _, tie := range []string{
		"o.grp IS NOT DISTINCT FROM k.grp", "k.grp IS NOT DISTINCT FROM o.sm", "o.i IS NOT DISTINCT FROM k.b", "o.s IS NOT DISTINCT FROM k.s", "o.d IS NOT DISTINCT FROM k.d", "k.ts IS NOT DISTINCT FROM o.ts", "o.tz IS NOT DISTINCT FROM k.tz",
		"o.f IS NOT DISTINCT FROM k.f", "o.grp + 1 IS NOT DISTINCT FROM k.sm", "o.grp IS NOT DISTINCT FROM k.grp AND o.f IS NOT DISTINCT FROM k.f", "o.grp IS NOT DISTINCT FROM k.grp AND o.sm = k.sm", "o.n IS NOT DISTINCT FROM k.n", "o.grp IS NOT DISTINCT FROM k.n",
		"o.id IS NOT DISTINCT FROM k.id AND o.s IS DISTINCT FROM 'a'",
	} {
		for _, place := range places {
			statements = append(statements, strings.ReplaceAll(place, "@", tie))
		}
	}
	wantAlike(t, kinds, 0.8, statements)
}

// EXISTS may be tied by comparisons where it is no condition of WHERE: who came back within a week.
func TestGateway_findsRowsByComparisonsAnywhere(t *testing.T) {
	t.Parallel()
	var statements []string
	for _, tie := range []string{"o.sm BETWEEN k.sm AND 2", "o.id < k.id AND o.id > k.sm", "o.d BETWEEN k.d AND k.d + 7", "o.n > k.n AND o.i <> k.i", "o.s < k.s AND o.id > k.id", "o.tz > k.tz AND o.tz < k.tz + interval '30 days'"} {
		for _, place := range []string{
			"SELECT id, EXISTS (SELECT 1 FROM k o WHERE o.grp = k.grp AND @) AS v FROM k ORDER BY id", "SELECT id, NOT EXISTS (SELECT FROM k o WHERE o.grp = k.grp AND o.f AND @) AS v FROM k ORDER BY id",
			"SELECT grp, sum(CASE WHEN EXISTS (SELECT 1 FROM k o WHERE o.grp = k.grp AND @) THEN 1 ELSE 0 END) FROM k GROUP BY grp ORDER BY grp", "SELECT id FROM k WHERE id > 55 OR EXISTS (SELECT 1 FROM k o WHERE o.grp = k.grp AND @) ORDER BY id",
			"SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM k o WHERE o.grp = k.grp AND @)) FROM k", "SELECT EXISTS (SELECT 1 FROM k o WHERE o.grp = k.grp AND @) AS v, count(*) FROM k GROUP BY 1 ORDER BY 1",
		} {
			statements = append(statements, strings.ReplaceAll(place, "@", tie))
		}
	}
	wantAlike(t, kinds, 0.8, statements)
}
