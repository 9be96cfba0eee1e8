//go:build kafka

package debezium_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/e2e/stand"
)

// Hashes do not compress, so that messages are as large as the rows.
const largeRow = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, %d) i)"

func TestStream_carriesLargeRows(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE big (id int PRIMARY KEY, v text)")
	m := sourcetest.NewModel()
	stop := m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	stop()
	// Topics of an earlier version take messages of the brokers' size.
	topic, size := b.name+".public.big", "1048588"
	changed, err := b.admin().AlterTopicConfigs(stand.Within(t, time.Minute), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &size}}, topic)
	if err != nil || changed[0].Err != nil {
		t.Fatal(err, changed)
	}
	m.Start(t, b.newSource())
	const mib = 1 << 20 / 32 // hashes
	for _, sql := range []string{
		fmt.Sprintf("INSERT INTO big VALUES (1, "+largeRow+")", 5*mib),
		"UPDATE big SET id = 2", "UPDATE big SET v = v || 'x'",
		fmt.Sprintf("INSERT INTO big VALUES (3, "+largeRow+")", 60*mib),
		// More than fits the queue of the connector.
		fmt.Sprintf("INSERT INTO big SELECT g, "+largeRow+" FROM generate_series(10, 39) g", 5*mib),
	} {
		b.exec(sql)
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatalf("after %s: %v", sql, err)
		}
	}
}
