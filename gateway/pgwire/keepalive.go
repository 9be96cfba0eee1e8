package pgwire

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// timeouts are those of PostgreSQL's that end a session; zero: none.
type timeouts struct{ idle, idleInTransaction, transaction time.Duration }

const (
	// stillHere is a statement that neither reads nor takes a snapshot.
	stillHere = "SHOW transaction_read_only"
	// touchInterval is how soon it is noticed that PostgreSQL has ended a session whose statement runs on the columnar
	// replica.
	touchInterval = time.Second
)

// backend is PostgreSQL's side of a session while a statement runs on the columnar replica, for whoever has something
// to ask.
type backend struct {
	mu sync.Mutex
	s  *session
}

// ask implements [SessionInfo.Ask].
func (b *backend) ask(ctx context.Context, sql string) ([][][]byte, error) {
	return b.askBy(ctx, askRequest(nil, sql))
}

// planLockTimeout is how long a question for a plan may wait for another session that defines its tables anew. The
// replica's answer need not.
const planLockTimeout = "SELECT pg_catalog.set_config('lock_timeout', '100ms', true)"

// askPlan implements [SessionInfo.AskPlan]. What is set for the transaction is set until the Sync.
func (b *backend) askPlan(ctx context.Context, st Statement) ([]byte, error) {
	values := pgproto3.Bind{}
	for _, p := range st.Params {
		v := p.Value
		if p.Null {
			v = nil
		}
		values.ParameterFormatCodes, values.Parameters = append(values.ParameterFormatCodes, p.Format), append(values.Parameters, v)
	}
	request := executeRequest(nil, planLockTimeout, nil, pgproto3.Bind{})
	request = executeRequest(request, "EXPLAIN (FORMAT JSON) "+st.SQL, st.ParamOIDs, values)
	rows, err := b.askBy(ctx, encode(request, &pgproto3.Sync{}))
	switch {
	case isSQLError(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return rows[len(rows)-1][0], nil
}

// askBy is ask by messages that end with a Sync.
func (b *backend) askBy(ctx context.Context, request []byte) ([][][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.s.askBy(ctx, request)
}

// keepInTouch speaks to PostgreSQL now and then until done is called. PostgreSQL knows nothing of the statement on the replica, and would end
// the session as an idle one (idle_in_transaction_session_timeout, idle_session_timeout). For the same reason done speaks to PostgreSQL once
// more if the session may not be idle for long: a client may run one short statement after the other. If PostgreSQL has ended the session for
// another reason (pg_terminate_backend, transaction_timeout), lost is called with what it said, or done returns that.
func (b *backend) keepInTouch(ctx context.Context, status txStatus, lost context.CancelCauseFunc) (done func() error) {
	limit := b.s.timeouts.ofIdle(status)
	interval := touchInterval
	if limit > 0 {
		interval = min(interval, max(limit/3, time.Millisecond))
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := b.ask(ctx, stillHere); endsSession(err) {
				lost(err)
				return
			}
		}
	}()
	return func() error {
		cancel()
		<-ended
		return b.s.wasBusy(status)
	}
}

// ofIdle is how long a session of this transaction status may be idle; zero: for ever.
func (t timeouts) ofIdle(status txStatus) time.Duration {
	if status == txOpen {
		return t.idleInTransaction
	}
	return t.idle
}

// wasBusy lets PostgreSQL count the session's idle time from now on, after something that the gateway answered by
// itself. The caller holds the backend. It returns why PostgreSQL has ended the session, if it has.
func (s *session) wasBusy(status txStatus) error {
	if s.timeouts.ofIdle(status) == 0 {
		return nil
	}
	if _, err := s.ask(s.ctx, stillHere); endsSession(err) {
		return err
	}
	return nil
}

// goodbye is how long a client that does not read may keep a session that has been ended.
const goodbye = time.Second

// boundWrites sees to it that a write to a client that does not read ends soon after ctx has ended with an error that ends the session:
// PostgreSQL's sessions end then, too. (A statement that is merely cancelled or times out goes on waiting for its client, as there.) It holds
// until done is called.
func (s *session) boundWrites(ctx context.Context) (done func()) {
	stop := context.AfterFunc(ctx, func() {
		if endsSession(context.Cause(ctx)) {
			_ = s.client.SetWriteDeadline(time.Now().Add(goodbye))
		}
	})
	return func() { stop() }
}
