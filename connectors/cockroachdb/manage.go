package cockroachdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// align returns the changefeed that writes the topics. One that is ours to manage is created if there is none alive,
// and gets the tables it lacks.
func (d *SQL) align(ctx context.Context, wanted []TableName) (*job, error) {
	jobs, err := d.jobs(ctx)
	if err != nil {
		return nil, err
	}
	j, err := choose(jobs, d.cfg.Changefeed.Prefix)
	if err != nil {
		return nil, err
	}
	switch {
	case !d.cfg.Manage && j == nil:
		return nil, changefeedStopped("create the changefeed with the statement that this product prints for it", "no changefeed writes topics with prefix %q", d.cfg.Changefeed.Prefix)
	case !d.cfg.Manage:
		return j, nil
	case j == nil || j.state() == ChangefeedEnded:
		return d.create(ctx, wanted)
	}
	add, drop := j.differ(wanted)
	if len(add)+len(drop) == 0 {
		return j, nil
	}
	if err := d.alter(ctx, j, add, drop); err != nil {
		return nil, fmt.Errorf("alter changefeed %s: %w", j.id, err)
	}
	j.tables = nil
	for _, t := range wanted {
		j.tables = append(j.tables, t.String())
	}
	return j, nil
}

// create creates the changefeed from the present on. Readers that are behind find out by its start.
func (d *SQL) create(ctx context.Context, wanted []TableName) (*job, error) {
	now, err := d.now(ctx)
	if err != nil {
		return nil, err
	}
	return d.createAfter(ctx, wanted, now)
}

func (d *SQL) createAfter(ctx context.Context, wanted []TableName, after cdc.Position) (*job, error) {
	sql, err := d.cfg.Changefeed.Create(wanted, after)
	if err != nil {
		return nil, err
	}
	rows, err := d.query(ctx, sql)
	if err != nil {
		return nil, explainCreate(err)
	}
	if len(rows) != 1 || len(rows[0]) == 0 {
		return nil, errors.New("create changefeed: unexpected answer")
	}
	j := &job{id: rows[0][0], status: "running"}
	for _, t := range wanted {
		j.tables = append(j.tables, t.String())
	}
	d.cfg.Logger.Info("created changefeed", "job", j.id, "after", formatHLC(after), "tables", len(wanted))
	return j, nil
}

// explainCreate tells refusals that a person must do something about.
func explainCreate(err error) error {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return fmt.Errorf("create changefeed: %w", err)
	}
	switch {
	case pgErr.Code == "42501":
		return &cdc.TerminalError{Code: cdc.CodePrivilege, Detail: "create changefeed: " + pgErr.Message, Remedy: "GRANT CHANGEFEED on the tables to the source's role", Err: err}
	case strings.Contains(pgErr.Message, "GC threshold"):
		return &cdc.TerminalError{Code: cdc.CodeHistoryLost, Detail: "create changefeed: " + pgErr.Message, Remedy: cdc.RemedyRecopy, Err: err}
	case strings.Contains(pgErr.Message, "rangefeed"):
		return misconfigured("SET CLUSTER SETTING kv.rangefeed.enabled = true", err, "create changefeed: %s", pgErr.Message)
	}
	return fmt.Errorf("create changefeed: %w", err)
}

// pauseWait bounds the wait for a changefeed to pause.
const pauseWait = 30 * time.Second

// alter changes the tables of a changefeed, which has to be paused meanwhile. One that had paused because of an error
// is resumed too: a table that was dropped is such an error.
func (d *SQL) alter(ctx context.Context, j *job, add, drop []TableName) error {
	s := d.cfg.Changefeed
	if j.state() == ChangefeedRunning {
		if err := d.exec(ctx, j.id, s.Pause); err != nil {
			return err
		}
	}
	if err := d.awaitPaused(ctx, j.id); err != nil {
		return err
	}
	sql, err := s.Alter(j.id, add, drop)
	if err != nil {
		return err
	}
	_, err = d.query(ctx, sql)
	// Resumed in any case: the other tables' stream must not stand still for this one.
	if err := errors.Join(err, d.exec(ctx, j.id, s.Resume)); err != nil {
		return err
	}
	d.cfg.Logger.Info("altered changefeed", "job", j.id, "added", len(add), "dropped", len(drop))
	return nil
}

func (d *SQL) awaitPaused(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pauseWait, fmt.Errorf("it did not pause within %s", pauseWait))
	defer cancel()
	for {
		rows, err := d.query(ctx, "SELECT status FROM [SHOW CHANGEFEED JOB "+id+"]")
		if err != nil {
			return err
		}
		if len(rows) == 1 && rows[0][0] == "paused" {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d *SQL) exec(ctx context.Context, id string, statement func(string) (string, error)) error {
	sql, err := statement(id)
	if err == nil {
		_, err = d.query(ctx, sql)
	}
	return err
}

// Drop ends the changefeed, if there is one that lives. Its topics stay.
func (d *SQL) Drop(ctx context.Context) error {
	jobs, err := d.jobs(ctx)
	if err != nil {
		return err
	}
	j, err := choose(jobs, d.cfg.Changefeed.Prefix)
	if err != nil || j == nil || j.state() == ChangefeedEnded {
		return err
	}
	if err := d.exec(ctx, j.id, d.cfg.Changefeed.Drop); err != nil {
		return fmt.Errorf("drop changefeed %s: %w", j.id, err)
	}
	return nil
}
