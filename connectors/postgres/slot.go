package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// SlotStatus describes the replication slot as the server sees it.
type SlotStatus struct {
	// Exists is false when there is no such slot; everything else is then zero.
	Exists bool
	// Lost says that the server has removed log that the slot needs, or invalidated it otherwise.
	Lost bool
	// Reason is the server's word for the slot's state: reserved, extended, unreserved or lost.
	Reason string
	// Confirmed is the position up to which the slot has been confirmed.
	Confirmed cdc.Position
	// RetainedBytes is how much log the server keeps for the slot.
	RetainedBytes int64
	// SafeBytes is how much more log may be written before the slot is in danger (max_slot_wal_keep_size); -1 for no
	// limit.
	SafeBytes int64
	// ActivePID is the server process that uses the slot, or zero.
	ActivePID int
	// ActiveName is that connection's application name.
	ActiveName string

	plugin, database string
}

// SlotStatus asks the server about the slot.
func (s *Source) SlotStatus(ctx context.Context) (SlotStatus, error) {
	var st SlotStatus
	var confirmed uint64
	err := s.pool.QueryRow(ctx, `SELECT coalesce(l.wal_status, 'lost'),
			coalesce(l.wal_status = 'lost', false) OR coalesce(to_jsonb(l)->>'invalidation_reason', '') <> '',
			coalesce(l.confirmed_flush_lsn - '0/0'::pg_lsn, 0)::bigint,
			coalesce(pg_current_wal_lsn() - l.restart_lsn, 0)::bigint, coalesce(l.safe_wal_size, -1),
			coalesce(l.active_pid, 0), coalesce(a.application_name, ''), coalesce(l.plugin::text, ''), coalesce(l.database::text, '')
		FROM pg_replication_slots l LEFT JOIN pg_stat_activity a ON a.pid = l.active_pid
		WHERE l.slot_name = $1`, s.cfg.Slot).
		Scan(&st.Reason, &st.Lost, &confirmed, &st.RetainedBytes, &st.SafeBytes, &st.ActivePID, &st.ActiveName, &st.plugin, &st.database)
	if errors.Is(err, pgx.ErrNoRows) {
		return SlotStatus{}, nil
	}
	if err != nil {
		return SlotStatus{}, fmt.Errorf("read status of slot %q: %w", s.cfg.Slot, err)
	}
	st.Exists, st.Confirmed = true, cdc.Position{Major: confirmed}
	s.metrics.slot(st)
	return st, nil
}

// remedyNewSlot is the remedy where a slot that is not lost cannot serve the stream any more: it is not dropped from
// here.
func remedyNewSlot(slot string) string {
	return fmt.Sprintf("drop the slot (SELECT pg_drop_replication_slot('%s')) and ", slot) + cdc.RemedyRecopy
}

// lost returns the terminal error of a slot that can no longer serve the stream, or nil.
func (st SlotStatus) lost(slot string) error {
	switch {
	case !st.Exists:
		return &cdc.TerminalError{Code: cdc.CodeSlotLost, Detail: fmt.Sprintf("replication slot %q does not exist any more", slot), Remedy: cdc.RemedyRecopy}
	case st.Lost:
		return &cdc.TerminalError{
			Code: cdc.CodeSlotLost, Detail: fmt.Sprintf("replication slot %q was invalidated by the server", slot),
			Remedy: cdc.RemedyRecopy + "; raise max_slot_wal_keep_size if the replica may fall that far behind",
		}
	}
	return nil
}

// How a consumer begins; zero: it has not said so.
const (
	anew   uint32 = iota + 1 // it kept nothing
	onward                   // it goes on from a position that it kept
)

// ensureSlot creates the slot unless it is there. A lost one is replaced where the consumer begins with nothing, and so
// needs no change that it guarded. The publication must exist before: pgoutput looks it up as of the change that it
// decodes.
func (s *Source) ensureSlot(ctx context.Context) error {
	st, err := s.SlotStatus(ctx)
	if err != nil {
		return err
	}
	if st.Lost && s.owns(st) && st.ActivePID == 0 && s.outset.Load() == anew {
		if err := s.dropSlot(ctx); err != nil {
			return s.privilegeOr(err, fmt.Sprintf("replace replication slot %q, which is lost", s.cfg.Slot), "ALTER ROLE … REPLICATION")
		}
		s.log.Info("dropped replication slot, which is lost and guards nothing that is needed", "slot", s.cfg.Slot)
		st = SlotStatus{}
	}
	if st.Exists || s.outset.Load() == onward { // a new one would guard nothing that is needed, and keep the log for nobody
		return s.checkSlot(st)
	}
	switch err := s.createSlot(ctx); {
	case sqlState(err) == stateDuplicateObject: // another unit was faster
	case err != nil:
		return s.privilegeOr(err, fmt.Sprintf("create replication slot %q", s.cfg.Slot), "ALTER ROLE … REPLICATION")
	}
	s.log.Info("created replication slot", "slot", s.cfg.Slot)
	return nil
}

// createSlot creates the slot once the transactions that run have ended.
func (s *Source) createSlot(ctx context.Context) error {
	create := "SELECT pg_create_logical_replication_slot($1, 'pgoutput')"
	if s.cfg.Failover && s.serverVersion.Load() >= 170000 {
		create = "SELECT pg_create_logical_replication_slot($1, 'pgoutput', failover => true)"
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = 0"); err != nil {
			return err
		}
		defer s.tellCopyWaits(ctx, tx.Conn().PgConn().PID())()
		_, err := tx.Exec(ctx, create, s.cfg.Slot)
		return err
	})
}

// owns reports whether a slot, which bears our name, is one that this source makes.
func (s *Source) owns(st SlotStatus) bool {
	return st.plugin == "pgoutput" && st.database == s.pool.Config().ConnConfig.Database
}

// checkSlot makes sure that a slot is there, and one that this source can use.
func (s *Source) checkSlot(st SlotStatus) error {
	if st.Exists && !s.owns(st) {
		return &cdc.TerminalError{
			Code:   cdc.CodeConfiguration,
			Detail: fmt.Sprintf("replication slot %q belongs to plugin %q and database %q", s.cfg.Slot, st.plugin, st.database),
			Remedy: "drop it or configure another slot name",
		}
	}
	return st.lost(s.cfg.Slot)
}

// claimSlot waits until no other connection uses the slot. A holder that bears our application name is what a
// killed gateway left behind: the server notices late, so it is terminated when half of the wait is over.
func (s *Source) claimSlot(ctx context.Context) (SlotStatus, error) {
	start, pause := s.cfg.Now(), 20*time.Millisecond
	terminated := false
	for {
		st, err := s.SlotStatus(ctx)
		if err != nil {
			return st, err
		}
		if err := s.checkSlot(st); err != nil {
			return st, err
		}
		if st.ActivePID == 0 {
			return st, nil
		}
		waited := s.cfg.Now().Sub(start)
		if waited > s.cfg.SlotWait {
			return st, fmt.Errorf("claim replication slot %q: process %d (%s) uses it; stop the other consumer", s.cfg.Slot, st.ActivePID, st.ActiveName)
		}
		if waited > s.cfg.SlotWait/2 && st.ActiveName == s.applicationName() && !terminated {
			s.log.Warn("terminating stale connection on replication slot", "slot", s.cfg.Slot, "pid", st.ActivePID)
			if _, err := s.pool.Exec(ctx, "SELECT pg_terminate_backend($1)", st.ActivePID); err != nil {
				return st, fmt.Errorf("terminate stale connection %d on slot %q: %w", st.ActivePID, s.cfg.Slot, err)
			}
			terminated = true
		}
		if err := pauseFor(ctx, pause); err != nil {
			return st, err
		}
		pause = min(pause*3/2, 500*time.Millisecond)
	}
}

func pauseFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// DropSlotAndPublication removes what the source created on the server. The stream must have ended; a
// connection that still holds the slot is waited for as Stream does. What is not there is no error.
func (s *Source) DropSlotAndPublication(ctx context.Context) error {
	if _, err := s.claimSlot(ctx); err != nil && !isLost(err) {
		return err
	}
	if err := s.dropSlot(ctx); err != nil {
		return fmt.Errorf("drop replication slot %q: %w", s.cfg.Slot, err)
	}
	if _, err := s.pool.Exec(ctx, "DROP PUBLICATION IF EXISTS "+ident(s.cfg.Publication)); err != nil {
		return fmt.Errorf("drop publication %q: %w", s.cfg.Publication, err)
	}
	return nil
}

func (s *Source) dropSlot(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1", s.cfg.Slot)
	return err
}

func isLost(err error) bool {
	t, ok := errors.AsType[*cdc.TerminalError](err)
	return ok && t.Code == cdc.CodeSlotLost
}
