package cockroach_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/operator/internal/cockroach"
)

// recording is a session that records statements and gives the answers that it has.
type recording struct {
	said    []string
	answers map[string][][]string
	refuse  string
}

func (r *recording) Query(_ context.Context, sql string) ([][]string, error) {
	r.said = append(r.said, sql)
	if sql == r.refuse {
		return nil, errors.New("no")
	}
	return r.answers[sql], nil
}

const (
	preserved      = "SHOW CLUSTER SETTING cluster.preserve_downgrade_option"
	version        = "SHOW CLUSTER SETTING version"
	administrators = "SELECT 1 FROM [SHOW GRANTS ON ROLE admin] WHERE member = e'freshet'"
	changefeeds    = `SELECT job_id::STRING, coalesce(sink_uri, '') FROM [SHOW CHANGEFEED JOBS]
		WHERE status IN ('running', 'pending', 'paused', 'pause-requested', 'failing')`
)

var target = cockroach.Target{Database: "app", Role: "freshet", Password: `it's\`}

func TestPrepare_makesDatabaseAndRoleOnce(t *testing.T) {
	making := []string{
		administrators, "SET CLUSTER SETTING kv.rangefeed.enabled = true", "SET CLUSTER SETTING kv.closed_timestamp.target_duration = '200ms'",
		`CREATE DATABASE IF NOT EXISTS "app"`, `CREATE ROLE IF NOT EXISTS "freshet" WITH LOGIN PASSWORD e'it\'s\\'`, `GRANT admin TO "freshet"`, preserved,
	}
	held := [][]string{{""}}
	for name, c := range map[string]struct {
		session recording
		want    []string
		fails   bool
	}{
		"new":         {recording{answers: map[string][][]string{preserved: held}}, making, false},
		"done before": {recording{answers: map[string][][]string{administrators: {{"1"}}, preserved: held}}, []string{administrators, preserved}, false},
		"refused":     {recording{refuse: making[3]}, making[:4], true},
	} {
		err := cockroach.Prepare(t.Context(), &c.session, target)
		if diff := cmp.Diff(c.want, c.session.said); diff != "" || (err != nil) != c.fails {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestHold_changesTheSettingOnlyWhereItIsAnother(t *testing.T) {
	const set, reset = "SET CLUSTER SETTING cluster.preserve_downgrade_option = e'26.1'", "RESET CLUSTER SETTING cluster.preserve_downgrade_option"
	for name, c := range map[string]struct {
		hold            bool
		preserved, runs string
		want            []string
		fails           bool
	}{
		"held, to be held":                 {true, "26.1", "26.1", []string{preserved}, false},
		"held for an upgrade, to be held":  {true, "25.4", "25.4", []string{preserved}, false},
		"free, to be held":                 {true, "", "26.1", []string{preserved, version, set}, false},
		"being finalized, to be held":      {true, "", "25.4-12", []string{preserved, version}, true},
		"free, to be free":                 {false, "", "26.1", []string{preserved}, false},
		"held for an upgrade, to be freed": {false, "25.4", "25.4", []string{preserved, reset}, false},
	} {
		s := recording{answers: map[string][][]string{preserved: {{c.preserved}}, version: {{c.runs}}}}
		err := cockroach.Hold(t.Context(), &s, c.hold)
		if diff := cmp.Diff(c.want, s.said); diff != "" || (err != nil) != c.fails {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
	if err := cockroach.Hold(t.Context(), &recording{}, true); err == nil {
		t.Error("no answer is no error")
	}
}

func TestEndChangefeeds_cancelsThoseOfUnitsThatAreNoMore(t *testing.T) {
	jobs := [][]string{
		{"1", "kafka://k:9092?sasl_password=redacted&topic_prefix=freshet_0a1b2c3d_0."},
		{"2", "kafka://k:9092?topic_prefix=freshet_0a1b2c3d_1."},
		{"3", "kafka://k:9092?topic_prefix=freshet_0a1b2c3d_12."},
		{"4", "kafka://k:9092?topic_prefix=freshet_ffffffff_1."},
		{"5", "kafka://k:9092?topic_prefix=freshet_0a1b2c3d_1"},
		{"6", "kafka://k:9092"},
		{"7", ""},
		{"8", "webhook-https://%zz"},
	}
	for keep, want := range map[int][]string{
		13: {changefeeds}, 1: {changefeeds, "CANCEL JOB 2", "CANCEL JOB 3"}, 0: {changefeeds, "CANCEL JOB 1", "CANCEL JOB 2", "CANCEL JOB 3"},
	} {
		s := recording{answers: map[string][][]string{changefeeds: jobs}}
		if err := cockroach.EndChangefeeds(t.Context(), &s, "freshet_0a1b2c3d_", keep); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.said); diff != "" {
			t.Errorf("keep %d (-want +got):\n%s", keep, diff)
		}
	}
	if err := cockroach.EndChangefeeds(t.Context(), &recording{refuse: changefeeds}, "freshet_", 0); err == nil {
		t.Error("a refusal is no error")
	}
}
