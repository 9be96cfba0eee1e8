package translate_test

import (
	"testing"

	"github.com/freshet-io/freshet/gateway/translate"
)

func TestTranslate_refusesWhatReadsAnOmittedColumn(t *testing.T) {
	for _, sql := range []string{
		"SELECT * FROM place",
		"SELECT spot FROM place",
		"SELECT count(spot) FROM place",
		"SELECT id FROM place WHERE spot IS NULL",
		"SELECT id FROM place ORDER BY spot",
		"SELECT id FROM place ORDER BY name, place.area LIMIT 3",
		"SELECT count(*) FROM place GROUP BY spot",
		"SELECT id, spot FROM place GROUP BY id",
		"SELECT s FROM (SELECT id, spot AS s FROM place) AS p",
		"SELECT * FROM (SELECT id, spot FROM place) AS p",
		"SELECT count(*) FROM (SELECT DISTINCT id, spot FROM place) AS p",
		"SELECT count(*) FROM (SELECT DISTINCT ON (spot) id FROM place ORDER BY spot) AS p",
		"SELECT count(*) FROM (SELECT id, spot AS s FROM place ORDER BY s LIMIT 3) AS p",
		"SELECT count(*) FROM (SELECT spot FROM place UNION ALL SELECT spot FROM place) AS p",
		"SELECT count(*) FROM (SELECT spot::text FROM place) AS p",
		"SELECT id FROM sale JOIN place USING (customer)",
		"SELECT count(*) FROM sale NATURAL JOIN (SELECT id AS place, customer FROM place) AS p",
		"SELECT id FROM sale WHERE customer IN (SELECT spot FROM place)",
		"SELECT (SELECT spot FROM place) FROM sale",
		"SELECT (SELECT max(area) FROM place AS p WHERE p.id = s.customer) FROM sale AS s",
		// The name means place's column, although sale has one of that name, too.
		"SELECT id FROM sale WHERE EXISTS (SELECT FROM place WHERE customer = 5)",
		"WITH p AS (SELECT * FROM place) SELECT count(area) FROM p",
		"SELECT p.third FROM place AS p (first, second, third)",
		"SELECT x.c FROM (place CROSS JOIN customer AS u) AS x (a, b, c)",
		"SELECT lag(spot) OVER (ORDER BY id) FROM place",
	} {
		_, err := translateText(t, sql, 23, 23, 23, 23, 23)
		refused, ok := translate.AsUnsupported(err)
		if !ok {
			t.Errorf("%s: error %v, want it refused", sql, err)
			continue
		}
		switch refused.Reason {
		case `column "spot" has type point, and is not on the replica`, `column "area" has type point, and is not on the replica`,
			`column "customer" has type point, and is not on the replica`:
		default:
			t.Errorf("%s is refused for: %s", sql, refused.Reason)
		}
	}
}

func TestTranslate_handsOnOmittedColumnsThatNothingReads(t *testing.T) {
	for sql, oids := range map[string][]uint32{
		"SELECT count(*) FROM place": {20},
		"SELECT p.id, p.name, u.name FROM place AS p JOIN customer AS u USING (id)":                            {23, 25, 25},
		"SELECT second, fourth FROM place AS p (first, second, third, fourth)":                                 {23, 25},
		"SELECT count(*), min(id) FROM (SELECT * FROM place) AS p":                                             {20, 23},
		"SELECT i FROM (SELECT * FROM (SELECT * FROM place) AS p) AS q (s, i, a, n)":                           {23},
		"WITH p AS (SELECT p.* FROM place AS p) SELECT a.id FROM p AS a JOIN p AS b ON a.id = b.id":            {23},
		"SELECT id FROM sale WHERE EXISTS (SELECT * FROM place AS p WHERE p.id = sale.customer)":               {20},
		"SELECT count(*) FROM (SELECT spot, id FROM place ORDER BY id LIMIT 2) AS p":                           {20},
		"SELECT u.name FROM customer AS u LEFT JOIN (place AS p JOIN sale AS s ON s.id = p.id) ON s.id = u.id": {25},
		"SELECT x.id FROM (SELECT p.*, s.day FROM place AS p LEFT JOIN sale AS s ON s.id = p.id) AS x":         {23},
	} {
		if _, err := translateText(t, sql, oids...); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
