package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
)

// ScanPenalty compares a query's CPU time in the engine on live replicas with that on plain tables.
type ScanPenalty struct {
	Query   string  `json:"query"`
	LiveMS  float64 `json:"live_cpu_ms"`
	PlainMS float64 `json:"plain_cpu_ms"`
	Penalty float64 `json:"penalty"`
}

// ScanResult is the outcome of [Scan].
type ScanResult struct {
	Queries               []ScanPenalty `json:"queries"`
	Mean                  float64       `json:"penalty_geometric_mean"`
	Worst                 ScanPenalty   `json:"worst"`
	TransactionsPerSecond float64       `json:"transactions_per_second"`
	Gateway               GatewayMemory `json:"gateway_memory"`
	// LeftOut holds the reason of each query that has no columnar route.
	LeftOut map[string]string `json:"left_out,omitempty"`
}

// scanned is what is known of one query.
type scanned struct {
	query       ch.Query
	statement   string            // for the engine, with tables named schema.table
	settings    map[string]string // that the gateway sent with it
	live, plain []float64         // CPU time of each run, in ms
}

// Scan measures what keeping the replica live costs the queries: CPU time in the engine under the full
// rate of transactions, against the same statements on plain tables with as much data, merged to one part, in turn.
func Scan(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Analysts, o.Rig.EngineLog = 0, true
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	out := &ScanResult{LeftOut: make(map[string]string)}
	// As loaded, columns of which all values are the same cost next to nothing to read, and conditions on them leave no row.
	o.Progress("letting transactions change the data")
	if _, err := o.phase(ctx, r, load{terminals: o.Terminals}, ""); err != nil {
		return nil, err
	}
	if err := r.CaughtUp(ctx); err != nil {
		return nil, err
	}
	o.Progress("making plain tables")
	if err := makePlainTables(ctx, r); err != nil {
		return nil, err
	}
	queries, err := out.scan(ctx, o, r)
	if err != nil {
		return nil, err
	}
	out.sum(queries)
	return out.report(o), nil
}

// scan runs all queries on both kinds of tables, round by round, while transactions run.
func (s *ScanResult) scan(ctx context.Context, o Options, r *rig.Rig) ([]*scanned, error) {
	conn, err := pgx.Connect(ctx, r.Endpoint())
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.PgConn().Exec(ctx, "SET freshet.route = 'columnar'; SET freshet.freshness = 'eventual'").ReadAll(); err != nil {
		return nil, err
	}
	if err := r.ResetPeak(); err != nil { // the copy is not what is measured
		return nil, err
	}
	var queries []*scanned
	for _, q := range ch.Queries() {
		statement, reason, err := engineStatement(ctx, conn, q)
		switch {
		case err != nil:
			return nil, fmt.Errorf("explain %s: %w", q.Name, err)
		case reason != "":
			s.LeftOut[q.Name] = reason
		default:
			queries = append(queries, &scanned{query: q, statement: statement})
		}
	}
	d, err := driver.New(driver.Config{
		OLTP: r.OLTP(), Warehouses: o.Rig.Warehouses, Seed: o.Rig.Seed, TransactionClients: o.Terminals, ConstantSize: !o.Growing,
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	type ended struct {
		report *driver.Report
		err    error
	}
	done := make(chan ended, 1)
	go func() {
		report, err := d.Run(running)
		done <- ended{report, err}
	}()
	err = scanRounds(ctx, o, r, conn, queries)
	stop()
	end := <-done
	s.TransactionsPerSecond = end.report.TransactionsPerSecond
	if err := errors.Join(err, end.err); err != nil {
		return nil, err
	}
	s.Gateway, err = gatewayMemory(r)
	return queries, err
}

func scanRounds(ctx context.Context, o Options, r *rig.Rig, conn *pgx.Conn, queries []*scanned) error {
	// The first rounds run until updates have spread over the tables.
	warm := time.Now().Add(o.Warmup + o.Duration)
	for round := 0; round < o.Rounds; {
		counted := time.Now().After(warm)
		if counted {
			round++
			o.Progress(fmt.Sprintf("round %d of %d", round, o.Rounds))
		} else {
			o.Progress("warming up")
		}
		for _, q := range queries {
			if err := q.run(ctx, r, conn, counted); err != nil {
				return fmt.Errorf("run %s: %w", q.query.Name, err)
			}
		}
	}
	return nil
}

// run runs the query on the live replica and, if it counts, twice on plain tables and on the live replica once more. Whichever comes second finds the
// processor's and the allocator's caches as it needs them, and costs some 5 % less: so each does.
func (q *scanned) run(ctx context.Context, r *rig.Rig, conn *pgx.Conn, counted bool) error {
	if err := q.runLive(ctx, r, conn, counted); err != nil {
		return fmt.Errorf("on the live replica: %w", err)
	}
	if !counted {
		return nil
	}
	for range 2 {
		if err := q.runPlain(ctx, r); err != nil {
			return fmt.Errorf("on plain tables: %w", err)
		}
	}
	if err := q.runLive(ctx, r, conn, counted); err != nil {
		return fmt.Errorf("on the live replica: %w", err)
	}
	return nil
}

// engineStatement asks the gateway what it would run, or why it would not.
func engineStatement(ctx context.Context, conn *pgx.Conn, q ch.Query) (statement, reason string, err error) {
	results, err := conn.PgConn().Exec(ctx, "EXPLAIN (FRESHET) "+q.Text()).ReadAll()
	if err != nil {
		return "", "", err
	}
	for _, row := range results[0].Rows {
		name, value, _ := strings.Cut(string(row[0]), ": ")
		switch name {
		case "Engine statement":
			return value, "", nil
		case "Reason":
			reason = value
		}
	}
	if reason == "" {
		return "", "", fmt.Errorf("EXPLAIN (FRESHET) tells neither statement nor reason: %s", results[0].Rows)
	}
	return "", reason, nil
}

// runLive runs the query through the endpoint. If it counts, it finds the CPU time in the engine's log. What was computed before on the same snapshot is not run
// again, hence not logged: then it asks until there is a new snapshot.
func (q *scanned) runLive(ctx context.Context, r *rig.Rig, conn *pgx.Conn, counted bool) error {
	entry, err := backoff.Retry(ctx, func() (logEntry, error) {
		start := time.Now()
		if _, err := conn.PgConn().Exec(ctx, q.query.Text()).ReadAll(); err != nil {
			return logEntry{}, backoff.Permanent(err)
		}
		if !counted {
			return logEntry{}, nil
		}
		entry, err := q.loggedSince(ctx, r, start)
		if err != nil && !errors.Is(err, errNotLogged) {
			err = backoff.Permanent(err)
		}
		return entry, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(100*time.Millisecond)), backoff.WithMaxElapsedTime(time.Minute))
	if err == nil && counted {
		q.live, q.settings = append(q.live, entry.cpuMS()), entry.Settings
	}
	return err
}

// loggedSince returns the newest log entry of the query's statement that is not older than a time.
func (q *scanned) loggedSince(ctx context.Context, r *rig.Rig, start time.Time) (logEntry, error) {
	prefix, _, _ := strings.Cut(q.statement, "public.")
	return logged(ctx, r, fmt.Sprintf(
		"event_time_microseconds >= fromUnixTimestamp64Micro(toInt64(%d)) AND startsWith(replaceAll(query, '\\n', ' '), %s)",
		start.UnixMicro(), engine.Literal(prefix)))
}

// runPlain runs the statement in the engine itself, with the settings that the gateway sent.
func (q *scanned) runPlain(ctx context.Context, r *rig.Rig) error {
	id := fmt.Sprintf("plain-%s-%d", q.query.Name, len(q.plain))
	settings := map[string]string{"query_id": id, "default_format": "Native"}
	for name, value := range q.settings {
		settings[name] = value
	}
	if _, err := r.Query(ctx, q.statement, settings); err != nil {
		return err
	}
	entry, err := logged(ctx, r, "query_id = "+engine.Literal(id))
	if err != nil {
		return err
	}
	q.plain = append(q.plain, entry.cpuMS())
	return nil
}

// logEntry is what the engine logs of a query.
type logEntry struct {
	Micros   int64 `json:"micros,string"`
	Settings map[string]string
}

func (e logEntry) cpuMS() float64 { return float64(e.Micros) / 1000 }

var errNotLogged = errors.New("the engine has not logged it")

// logged returns the newest log entry of a finished SELECT under a condition, or errNotLogged.
func logged(ctx context.Context, r *rig.Rig, condition string) (logEntry, error) {
	var entry logEntry
	if _, err := r.Query(ctx, "SYSTEM FLUSH LOGS", nil); err != nil {
		return entry, err
	}
	line, err := r.Query(ctx, `SELECT toInt64(ProfileEvents['UserTimeMicroseconds'] + ProfileEvents['SystemTimeMicroseconds']) AS micros, Settings
		FROM system.query_log WHERE type = 'QueryFinish' AND query_kind = 'Select' AND is_initial_query AND `+condition+`
		ORDER BY event_time_microseconds DESC LIMIT 1 FORMAT JSONEachRow`,
		map[string]string{"output_format_json_quote_64bit_integers": "1"})
	if err != nil {
		return entry, err
	}
	if line == "" {
		return entry, errNotLogged
	}
	return entry, json.Unmarshal([]byte(line), &entry)
}

// sum computes penalties from the median CPU time of each query's runs: the replica costs more the longer its last compaction is past.
func (s *ScanResult) sum(queries []*scanned) {
	logs := 0.0
	for _, q := range queries {
		p := ScanPenalty{Query: q.query.Name, LiveMS: report.Median(q.live), PlainMS: report.Median(q.plain)}
		p.Penalty = p.LiveMS / p.PlainMS
		logs += math.Log(p.Penalty)
		if p.Penalty > s.Worst.Penalty {
			s.Worst = p
		}
		s.Queries = append(s.Queries, p)
	}
	s.Mean = math.Exp(logs / float64(len(queries)))
}

func (s *ScanResult) report(o Options) *report.Report {
	r := o.describe("scan", "Penalty of scanning what is being updated")
	r.AddSetting("measure", fmt.Sprintf("user and system CPU time in the engine, the median of %d runs, of which half come first in a pair of live and plain", 2*o.Rounds))
	r.AddSetting("plain tables", "the same columns and sorting keys, filled by one INSERT when transactions had changed the data for a phase, merged to one part; queried in turn with the live ones")
	r.AddSetting("transactions/s meanwhile", fmt.Sprintf("%.0f", s.TransactionsPerSecond))
	r.Data = s
	table := report.Table{Title: "By query", Columns: []string{"query", "live CPU ms", "plain CPU ms", "penalty", "left out because"}}
	chart := report.Chart{Title: "Penalty", Unit: "×", Limit: 1.5, Series: []report.Series{{Name: "live / plain"}}}
	for _, q := range s.Queries {
		table.Rows = append(table.Rows, cells("%s|%.1f|%.1f|%.2f×|", q.Query, q.LiveMS, q.PlainMS, q.Penalty))
		chart.Labels = append(chart.Labels, q.Query)
		chart.Series[0].Values = append(chart.Series[0].Values, q.Penalty)
	}
	for _, name := range slices.Sorted(maps.Keys(s.LeftOut)) {
		table.Rows = append(table.Rows, cells("%s||||%s", name, s.LeftOut[name]))
	}
	r.Tables, r.Charts = []report.Table{table}, []report.Chart{chart}
	r.AtMost("queries without a columnar route", float64(len(s.LeftOut)), 0, "%.0f")
	r.AtMost("scan penalty, geometric mean", s.Mean, 1.5, "%.2f×")
	r.AtMost("scan penalty, worst query ("+s.Worst.Query+")", s.Worst.Penalty, 2.5, "%.2f×")
	r.AtMost("gateway memory, peak", s.Gateway.Peak, 300, "%.0f MiB")
	return r
}
