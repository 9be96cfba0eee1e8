//go:build kafka

package debezium_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/e2e/stand"
)

// rest asks Kafka Connect for something of the connector.
func (b *testbed) rest(method, path string, body, into any) {
	b.t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(stand.Within(b.t, time.Minute), method, b.stack.connect.URL()+"/connectors/"+b.name+path, bytes.NewReader(content))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		b.t.Fatalf("%s %s: status %s", method, path, resp.Status)
	}
	if into != nil {
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			b.t.Fatal(err)
		}
	}
}

// patchOffset changes what Connect has recorded last of a stopped connector.
func (b *testbed) patchOffset(values map[string]any) {
	b.t.Helper()
	var recorded struct {
		Offsets []struct {
			Partition map[string]any `json:"partition"`
			Offset    map[string]any `json:"offset"`
		} `json:"offsets"`
	}
	b.rest(http.MethodGet, "/offsets", nil, &recorded)
	maps.Copy(recorded.Offsets[0].Offset, values)
	b.rest(http.MethodPatch, "/offsets", recorded, nil)
}

// sendBoundary sends the BEGIN of a transaction, or an END that counts nothing, as Debezium does, a second ago.
func (b *testbed) sendBoundary(status string, at message) {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.stack.broker.Address()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	value := fmt.Sprintf(`{"status":%q,"id":"%d:%d","event_count":null,"data_collections":null,"ts_ms":%d}`, status, at.XID, at.LSN, time.Now().UnixMilli())
	record := &kgo.Record{Topic: b.name + ".transaction", Value: []byte(value), Timestamp: time.Now().Add(-time.Second)}
	if err := client.ProduceSync(stand.Within(b.t, time.Minute), record).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// message is one of pgoutput's, as a slot shows it.
type message struct {
	LSN, XID int64
	Type     string
}

// Debezium goes on behind a change that has the position of the commit before, if what it recorded last is that the change's transaction began.
func TestStream_copiesTablesAnewWhereFirstChangesMayBeMissing(t *testing.T) {
	resumes(t, func(b *testbed, conn *pgx.Conn, last func() (begin, commit, before message)) {
		long := stand.Connect(t, b.url)
		stand.Exec(t, long, "BEGIN; INSERT INTO t VALUES (10)")
		stand.Exec(t, conn, "INSERT INTO t VALUES (11)")
		stand.Exec(t, long, "INSERT INTO u VALUES (10)")
		stand.Exec(t, long, "COMMIT")
		begin, _, before := last()
		if before.LSN == 0 {
			t.Fatal("no change has the position of the commit before")
		}
		// What Connect records after it has sent the BEGIN.
		b.patchOffset(map[string]any{
			"lsn": begin.LSN, "txId": begin.XID, "transaction_id": fmt.Sprint(begin.XID), "lsn_proc": before.LSN, "lsn_commit": before.LSN, "messageType": "BEGIN",
		})
		b.sendBoundary("END", before) // its row is in no topic
		b.sendBoundary("BEGIN", begin)
	})
}

// Connect may crash when it has recorded a heartbeat that Debezium sent between a commit and the END.
func TestStream_copiesTablesAnewBehindATransactionWithoutAnEnd(t *testing.T) {
	resumes(t, func(b *testbed, conn *pgx.Conn, last func() (begin, commit, before message)) {
		stand.Exec(t, conn, "INSERT INTO t VALUES (10)")
		begin, commit, _ := last()
		b.patchOffset(map[string]any{
			"lsn": commit.LSN, "txId": begin.XID, "transaction_id": nil, "lsn_proc": commit.LSN, "lsn_commit": commit.LSN, "messageType": "COMMIT",
		})
		b.sendBoundary("BEGIN", begin)
	})
}

// resumes stops a connector, has crash make up what it left behind, with the bounds of the last transaction at hand, and compares after it has gone on.
func resumes(t *testing.T, crash func(b *testbed, conn *pgx.Conn, last func() (begin, commit, before message))) {
	t.Helper()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE u (id int PRIMARY KEY)")
	m := sourcetest.NewModel()
	same := func() {
		t.Helper()
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatal(err)
		}
	}
	stop := m.Start(t, b.newSource())
	for id := range 2 { // the first may be in the copy
		b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", id))
		same()
	}
	stop()
	b.rest(http.MethodPut, "/stop", nil, nil)
	b.awaitFreeSlot()

	probe := b.name + "_probe"
	conn := stand.Connect(t, b.url)
	stand.Exec(t, conn, "SELECT pg_create_logical_replication_slot('"+probe+"', 'pgoutput')")
	defer stand.Exec(t, conn, "SELECT pg_drop_replication_slot('"+probe+"')")
	crash(b, conn, func() (begin, commit, before message) {
		return lastTransaction(stand.Within(t, time.Minute), t, conn, probe, b.name)
	})
	b.rest(http.MethodPut, "/resume", nil, nil)

	stop = m.Start(t, b.newSource())
	defer stop()
	b.exec("INSERT INTO u VALUES (12)")
	same()
}

// lastTransaction returns the BEGIN and the COMMIT of the last transaction of a slot, and the COMMIT of the one before if a change of the last one has its position.
func lastTransaction(ctx context.Context, t *testing.T, conn *pgx.Conn, slot, publication string) (begin, commit, before message) {
	t.Helper()
	rows, err := conn.Query(ctx, `SELECT (lsn - '0/0')::bigint AS lsn, xid::text::bigint AS xid, chr(get_byte(data, 0)) AS type
		FROM pg_logical_slot_peek_binary_changes($1, NULL, NULL, 'proto_version', '1', 'publication_names', $2)`, slot, publication)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := pgx.CollectRows(rows, pgx.RowToStructByName[message])
	if err != nil {
		t.Fatal(err)
	}
	var last message
	for _, m := range messages {
		switch m.Type {
		case "B":
			begin, last, before = m, commit, message{}
		case "C":
			commit = m
		case "I":
			if m.LSN == last.LSN {
				before = last
			}
		}
	}
	return begin, commit, before
}
