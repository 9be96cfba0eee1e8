package cockroachdb

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// jobsSQL lists changefeeds. Its columns are those of job; full_table_names has one name per line.
const jobsSQL = `SELECT job_id::STRING, status, coalesce(error, ''), coalesce(running_status, ''), description,
	(extract(epoch FROM created) * 1e9)::INT8::STRING, coalesce(sink_uri, ''), array_to_string(full_table_names, e'\n')
FROM [SHOW CHANGEFEED JOBS] ORDER BY created, job_id`

// job is a changefeed's job.
type job struct {
	id, status, detail, description string
	created                         time.Time
	sink                            string
	tables                          []string // database.schema.table
}

func parseJob(row []string) (job, error) {
	if len(row) != 8 {
		return job{}, fmt.Errorf("read changefeed jobs: a row of %d columns, want 8", len(row))
	}
	nanos, ok := parseDigits([]byte(row[5]), 19)
	if !ok {
		return job{}, fmt.Errorf("read changefeed jobs: job %s was created at %q", row[0], row[5])
	}
	j := job{id: row[0], status: row[1], detail: cmp.Or(row[2], row[3]), description: row[4], created: time.Unix(0, int64(nanos)), sink: row[6]}
	if row[7] != "" {
		j.tables = strings.Split(row[7], "\n")
	}
	return j, nil
}

// cursorOption finds the cursor in a job's description.
var cursorOption = regexp.MustCompile(`cursor\s*=\s*'([0-9.]+)'`)

// changefeed says what the job means for its readers.
func (j *job) changefeed() (Changefeed, error) {
	f := Changefeed{Job: j.id, Created: j.created, Detail: j.status, Start: cdc.Position{Major: uint64(j.created.UnixNano())}}
	if j.detail != "" {
		f.Detail += ": " + j.detail
	}
	if m := cursorOption.FindStringSubmatch(j.description); m != nil {
		var err error
		if f.Start, err = parseHLC(m[1]); err != nil {
			return f, fmt.Errorf("read changefeed jobs: cursor of job %s: %w", j.id, err)
		}
	}
	f.State = j.state()
	return f, nil
}

// state maps the statuses of jobs. What is on the way of being paused or canceled is taken for done.
func (j *job) state() ChangefeedState {
	switch j.status {
	case "failed", "canceled", "cancel-requested", "reverting", "revert-failed", "succeeded":
		return ChangefeedEnded
	case "paused", "pause-requested":
		return ChangefeedPaused
	}
	return ChangefeedRunning
}

// ours reports whether a changefeed writes topics with a prefix.
func (j *job) ours(prefix string) bool {
	u, err := url.Parse(j.sink)
	return err == nil && u.Query().Get("topic_prefix") == prefix && (u.Scheme == "kafka" || u.Scheme == "external" || u.Scheme == "confluent-cloud")
}

// choose returns the changefeed that writes the topics: the one that lives, else the one that ended last; nil for none.
func choose(jobs []job, prefix string) (*job, error) {
	var alive, ended *job
	for i := range jobs {
		j := &jobs[i]
		switch {
		case !j.ours(prefix):
		case j.state() == ChangefeedEnded:
			ended = j
		case alive != nil:
			return nil, misconfigured("cancel one of them", nil, "two changefeeds write topics with prefix %q: jobs %s and %s", prefix, alive.id, j.id)
		default:
			alive = j
		}
	}
	return cmp.Or(alive, ended), nil
}

// differ compares the tables that a changefeed emits with those it should.
func (j *job) differ(wanted []TableName) (add []TableName, drop []TableName) {
	for _, t := range wanted {
		if !j.emits(t) {
			add = append(add, t)
		}
	}
	for _, name := range j.tables {
		t, ok := splitName(name)
		if ok && !slices.Contains(wanted, t) {
			drop = append(drop, t)
		}
	}
	return add, drop
}

func (j *job) emits(t TableName) bool {
	return slices.ContainsFunc(j.tables, func(name string) bool {
		n, ok := splitName(name)
		return ok && n == t
	})
}

// splitName splits "database.schema.table", whose parts may be quoted.
func splitName(name string) (t TableName, ok bool) {
	var parts []string
	for name != "" {
		var part string
		if name[0] == '"' {
			end := 1
			for end < len(name) && (name[end] != '"' || end+1 < len(name) && name[end+1] == '"') {
				if name[end] == '"' {
					end++
				}
				end++
			}
			if end >= len(name) {
				return t, false
			}
			part, name = strings.ReplaceAll(name[1:end], `""`, `"`), name[end+1:]
			name = strings.TrimPrefix(name, ".")
		} else {
			part, name, _ = strings.Cut(name, ".")
		}
		parts = append(parts, part)
	}
	if len(parts) != 3 {
		return t, false
	}
	return TableName{parts[0], parts[1], parts[2]}, true
}
