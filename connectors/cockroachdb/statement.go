package cockroachdb

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Statements makes the SQL that creates, alters and ends the changefeed. A source, an operator and a person use the same.
type Statements struct {
	// Sink is the address that the changefeed sends to: "kafka://host:9092", with options of the sink in its query (tls_enabled,
	// ca_cert, sasl_user …) or "external://name". It may hold secrets.
	Sink string
	// Prefix precedes the names of topics.
	Prefix string
	// Envelope is the form of messages. Default "wrapped".
	Envelope string
	// Resolved is how often the changefeed sends resolved timestamps, at best. Default 100 ms.
	Resolved time.Duration
}

// Create creates the changefeed for tables ("database.schema.table", in order). It emits what is committed after a timestamp and scans nothing:
// copies are taken by SQL.
func (s Statements) Create(tables []TableName, after cdc.Position) (string, error) {
	if len(tables) == 0 {
		return "", fmt.Errorf("create changefeed: there are no tables")
	}
	options, err := s.options()
	if err != nil {
		return "", err
	}
	options = append(options, "initial_scan = 'no'", "cursor = "+literal(formatHLC(after)))
	sink, err := s.sink()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("CREATE CHANGEFEED FOR TABLE %s INTO %s WITH %s", targets(tables), literal(sink), strings.Join(options, ", ")), nil
}

// options are those that the source relies on, and why.
func (s Statements) options() ([]string, error) {
	resolved := s.Resolved
	if resolved == 0 {
		resolved = 100 * time.Millisecond
	}
	if resolved < time.Millisecond {
		return nil, fmt.Errorf("create changefeed: resolved timestamps every %s: give a millisecond or more", resolved)
	}
	every := literal(fmt.Sprintf("%dms", resolved.Milliseconds()))
	var envelope []string
	switch s.Envelope {
	case "", "wrapped":
		envelope = []string{"envelope = 'wrapped'"}
	case "enriched":
		envelope = []string{"envelope = 'enriched'", "enriched_properties = 'source'"}
	default:
		return nil, fmt.Errorf("create changefeed: envelope %q is not supported: use wrapped or enriched", s.Envelope)
	}
	return append(envelope,
		"key_in_value",                        // for readers without the message's key
		"updated",                             // the order of everything
		"mvcc_timestamp",                      // tells rows of scans
		"diff",                                // tells inserts from updates
		"full_table_name",                     // tables of one name in two schemas have a topic each
		"resolved = "+every,                   // the cuts
		"min_checkpoint_frequency = "+every,   // without, they come every 30 s
		"on_error = 'pause'",                  // nothing is collected that a resumed changefeed needs
		"gc_protect_expires_after = '24h'",    // but not for ever
		"encode_json_value_null_as_object",    // tells JSON's null from SQL's
		"schema_change_policy = 'nobackfill'", // needless: copies are taken by SQL
	), nil
}

// sink is the address with the prefix of topics.
func (s Statements) sink() (string, error) {
	u, err := url.Parse(s.Sink)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("create changefeed: the sink's address cannot be read; give kafka://host:port or external://name")
	}
	if s.Prefix == "" {
		return s.Sink, nil
	}
	q := u.Query()
	q.Set("topic_prefix", s.Prefix)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// Alter adds and drops tables of a changefeed that is paused. What is added is emitted from the changefeed's own timestamp on, and
// not scanned.
func (s Statements) Alter(job string, add, drop []TableName) (string, error) {
	if !isJob(job) || len(add)+len(drop) == 0 {
		return "", fmt.Errorf("alter changefeed %q: want the ID of a job, and tables to add or drop", job)
	}
	sql := "ALTER CHANGEFEED " + job
	if len(add) > 0 {
		sql += " ADD " + targets(add) + " WITH initial_scan = 'no'"
	}
	if len(drop) > 0 {
		sql += " DROP " + targets(drop)
	}
	return sql, nil
}

// Pause stops the changefeed so that it can be altered, or resumed without loss.
func (Statements) Pause(job string) (string, error) { return jobStatement("PAUSE", job) }

// Resume goes on where the changefeed was paused.
func (Statements) Resume(job string) (string, error) { return jobStatement("RESUME", job) }

// Drop ends the changefeed for good. Its topics stay.
func (Statements) Drop(job string) (string, error) { return jobStatement("CANCEL", job) }

func jobStatement(verb, job string) (string, error) {
	if !isJob(job) {
		return "", fmt.Errorf("%s changefeed %q: want the ID of a job", strings.ToLower(verb), job)
	}
	return verb + " JOB " + job, nil
}

func isJob(job string) bool {
	_, ok := parseDigits([]byte(job), 19)
	return ok
}

// TableName is a table's full name.
type TableName struct{ Database, Schema, Table string }

// String quotes the name for SQL.
func (n TableName) String() string {
	return identifier(n.Database) + "." + identifier(n.Schema) + "." + identifier(n.Table)
}

func (n TableName) compare(o TableName) int {
	return strings.Compare(n.String(), o.String())
}

func targets(tables []TableName) string {
	sorted := slices.SortedFunc(slices.Values(tables), TableName.compare)
	list := make([]string, len(sorted))
	for i, t := range sorted {
		list[i] = t.String()
	}
	return strings.Join(list, ", ")
}

// identifier quotes a name for SQL.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal quotes a string for SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Topic names the topic of a table, as a changefeed with full_table_name does.
func (s Statements) Topic(n TableName) string {
	return s.Prefix + topicName(n.Database+"."+n.Schema+"."+n.Table)
}

// topicName replaces the characters that Kafka does not allow.
func topicName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_u%04x_", r)
		}
	}
	return b.String()
}
