package server_test

import "testing"

// What EXISTS returns nobody reads, but it may say how many rows there are. On either route the answer is PostgreSQL's.
func TestGateway_countsTheRowsThatExist(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	oltp := g.connect(g.oltp.URL("postgres"))
	auto := g.client()
	for _, exists := range []string{
		"SELECT jsonb_agg(m.part) FROM measure m WHERE false",
		"SELECT jsonb_agg(m.part) FROM measure m WHERE m.sensor = s.id",
		"SELECT corr(m.part, m.id) FROM measure m WHERE m.sensor = s.id",
		"SELECT mode() WITHIN GROUP (ORDER BY m.part) FROM measure m WHERE m.sensor = s.id",
		"SELECT JSON_ARRAYAGG(m.part) FROM measure m WHERE m.sensor = s.id",
		"SELECT 1 FROM measure m WHERE m.sensor = s.id ORDER BY jsonb_agg(m.part)",
		"SELECT coalesce((SELECT sum(m.part)), 0) FROM measure m WHERE m.sensor = s.id",
		"SELECT generate_series(1, 0) FROM measure m WHERE m.sensor = s.id",
		"SELECT unnest(ARRAY[]::int[]) FROM measure m WHERE m.sensor = s.id AND (m.part > s.id OR m.id = s.id)",
		"SELECT lower(s.kind), m.part + 1, CASE WHEN m.id = 1 THEN now() END FROM measure m WHERE m.sensor = s.id ORDER BY m.id",
	} {
		wantSameAnswer(t, auto, oltp, "SELECT id FROM sensor s WHERE EXISTS ("+exists+") ORDER BY id")
		wantSameAnswer(t, auto, oltp, "SELECT id FROM sensor s WHERE NOT EXISTS ("+exists+") ORDER BY id")
	}
	for _, sql := range []string{
		"WITH w AS (SELECT sensor, count(*) n FROM measure GROUP BY sensor) SELECT v.x FROM w v(x, sensor) WHERE sensor = (SELECT max(sensor) FROM w) ORDER BY 1",
		"WITH w AS (SELECT sensor, count(*) n FROM measure GROUP BY sensor) SELECT v.x FROM w v(n, x) WHERE x = (SELECT max(n) FROM w) ORDER BY 1",
	} {
		wantSameAnswer(t, auto, oltp, sql)
	}
}
