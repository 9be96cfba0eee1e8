package pgwire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

var (
	errCanceled           = &Error{Code: codeQueryCanceled, Message: "canceling statement due to user request"}
	errTimeout            = &Error{Code: codeQueryCanceled, Message: "canceling statement due to statement timeout"}
	errTransactionTimeout = &Error{Code: codeTransactionTimeout, Message: "terminating connection due to transaction timeout", fatal: true}
	errClientGone         = errors.New("the client is gone")
)

const (
	routeIsOLTP      = "freshet.route is oltp"
	clientEncodingIs = "client_encoding is "
	utf8Encoding     = "UTF8"
)

// offer runs a candidate on the analytical route, or gives it to PostgreSQL.
func (s *session) offer(e *execution, status txStatus) error {
	if s.parametersChanged() || s.srv.cfg.Now().Sub(s.validity.asked) > s.srv.cfg.SettingsAge {
		s.validity.stale = true
	}
	if s.info.ReadSince && s.srv.cfg.Analytics.HiddenEffects() {
		s.expire()
	}
	against := s.against(e, status)
	relays := e.class.Kind != Explain && !s.block.columnar // else it is PostgreSQL's only as turnDown says
	if relays && against != "" && !s.wantsColumnar {
		return s.relay(e, against)
	}
	known := !s.validity.stale && (status == txIdle || s.block.known)
	if relays && known && s.invalid == nil && s.info.Settings.Route == RouteOLTP {
		return s.relay(e, routeIsOLTP)
	}
	if s.validity.doubt(status == txOpen) {
		known = false
	}
	ctx, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	s.setStopOffer(stop)
	defer s.setStopOffer(nil)
	if err := s.acquire(); err != nil {
		return err
	}
	d, outcome, err := s.prepareOffer(ctx, e, known, against == "")
	if err == nil && outcome == undecided {
		if err = s.closeReplaced(e, status); err == nil {
			err = s.mark(e, status)
		}
		if isSQLError(err) { // a portal of its name, or a cancellation or a time limit, which has failed the block as well
			outcome, err = done, s.fail(err, !e.within)
		}
	}
	if err == nil && outcome == undecided {
		outcome, err = s.decide(ctx, stop, e, d, status, against)
	}
	if err != nil {
		return err // the connection ends, and with it the backend
	}
	if outcome == relayed && errors.Is(context.Cause(ctx), errCanceled) { // while PostgreSQL was asked
		outcome, err = done, s.rejectHeld(e, errCanceled)
		if err != nil {
			return err
		}
	}
	s.handBack()
	if outcome == relayed {
		return s.relay(e, "")
	}
	s.answered(e)
	return nil
}

// against says why an execution cannot be offered, as far as the session knows by itself.
func (s *session) against(e *execution, status txStatus) string {
	switch {
	case e.extended() && !e.wellBound():
		return "its Bind message does not fit"
	case s.foreignEncoding(): // which may lack a letter of what PostgreSQL would be asked for, and the error would fail the block
		return clientEncodingIs + s.parameter("client_encoding")
	case e.class.Kind == Explain && status == txIdle:
		return ""
	case status == txOpen && !s.block.mayBeReadOnly, status == txOpen && s.block.known && !s.block.readOnly:
		return "it is in a READ WRITE transaction block"
	case e.extended() && e.moves == nil && e.statement.readAs != s.reading():
		return "its constants were read under other settings of TimeZone, DateStyle or IntervalStyle"
	case !e.extended() && e.class.Parameters: // PostgreSQL refuses them
		return "it has parameters in a simple query"
	}
	return ""
}

// foreignEncoding reports whether PostgreSQL has reported another client_encoding than UTF8.
func (s *session) foreignEncoding() bool {
	reported := s.parameter("client_encoding")
	return reported != "" && reported != utf8Encoding
}

// wellBound reports whether the format codes of a Bind are as many as they may be.
func (e *execution) wellBound() bool {
	f := e.bind.ParameterFormatCodes
	return len(f) <= 1 || len(f) == len(e.bind.Parameters)
}

// validText reports whether the parameters that are text are so in UTF-8: PostgreSQL refuses others.
func (e *execution) validText(types []uint32) bool {
	for i, v := range e.bind.Parameters {
		if formatOf(e.bind.ParameterFormatCodes, i) != pgtype.TextFormatCode && !slices.Contains(textTypes, types[i]) {
			continue
		}
		if !utf8.Valid(v) || bytes.IndexByte(v, 0) >= 0 {
			return false
		}
	}
	return true
}

// textTypes have a binary format that is their text.
var textTypes = []uint32{pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.UnknownOID, pgtype.JSONOID}

// outcome is what became of an offered execution.
type outcome uint8

const (
	undecided outcome = iota
	relayed           // to be relayed
	done              // the client has its answer
)

// prepareOffer has PostgreSQL answer what the client sent of the unit, say what the session's
// settings are, and describe the statement: in one round trip, as far as needed.
func (s *session) prepareOffer(ctx context.Context, e *execution, known, describe bool) (*description, outcome, error) {
	q := e.query()
	key := q.text()
	if q.extended() {
		for _, oid := range q.statement.oids {
			key = string(binary.BigEndian.AppendUint32([]byte(key), oid))
		}
	}
	if !known {
		s.expireDescriptions()
	}
	generation := s.srv.cfg.Analytics.Generation()
	d := s.describedAs(q, key, generation)
	describe = describe && d == nil
	var b []byte
	settle := s.unit.replies > 0
	if settle {
		b = encode(b, &pgproto3.Sync{})
	}
	asked := s.srv.cfg.Now()
	if !known {
		b = askRequest(b, infoSQL)
	}
	if describe {
		b = describeRequest(b, q)
	}
	if len(b) == 0 {
		return d, undecided, nil
	}
	answered, err := s.asks(ctx)
	switch {
	case errors.Is(err, errCanceled):
		return nil, relayed, nil // the caller says so
	case err != nil:
		return nil, undecided, err
	}
	defer answered()
	if err := s.send(b); err != nil {
		return nil, undecided, err
	}
	failed := settle && s.flow.failing() // serverLoop may have relayed the unit's error already
	if settle {
		s.unit.replies = 0
		if _, err := s.untilReady(s.toClient(&failed)); err != nil {
			return nil, undecided, err
		}
	}
	var unknown error // why PostgreSQL does not say what the settings are
	if !known {
		rows, err := s.askAnswer()
		if err == nil {
			err = s.takeInfo(rows, asked)
		}
		if err != nil && !isSQLError(err) {
			return nil, undecided, err
		}
		unknown = err
	}
	if describe {
		d = &description{at: s.srv.cfg.Now(), generation: generation, parses: s.parses, expiries: s.expiries}
	}
	return s.finishPrepare(e, key, d, describe, failed, unknown)
}

// finishPrepare reads the description and decides by what went wrong before it: failed if the client has an error of
// the unit's already.
func (s *session) finishPrepare(e *execution, key string, d *description, describe, failed bool, unknown error) (*description, outcome, error) {
	status, _, _ := s.flow.quiet()
	var refused []byte
	if describe {
		var err error
		if status, refused, err = s.readDescription(d); err != nil {
			return nil, undecided, err
		}
	}
	switch {
	case failed: // the client's Sync is still to be answered
		_, err := s.client.Write(e.ready(nil, status))
		return nil, done, err
	case unknown != nil && status != txFailed: // PostgreSQL runs the statement, and says why if it refuses that as well
		return nil, relayed, nil
	case unknown != nil: // a cancellation, or a time limit, that ended the block
		return nil, done, s.fail(unknown, !e.within)
	case refused != nil && status != txFailed && e.class.Kind != Explain && !interrupted(refused): // PostgreSQL says it again when it runs the statement
		return nil, relayed, nil
	case refused != nil:
		if e.class.Inner != "" {
			refused = moveError(refused, e)
		}
		_, err := s.client.Write(e.ready(refused, status))
		return nil, done, err
	}
	if describe {
		s.remember(e.query(), key, d)
	}
	return d, undecided, nil
}

// moveError moves the position of an error in an inner statement to where that stands in the outer one.
func moveError(raw []byte, e *execution) []byte {
	var m pgproto3.ErrorResponse
	at := strings.LastIndex(e.sql, e.class.Inner)
	if m.Decode(raw[headerSize:]) != nil || m.Position == 0 || at < 0 {
		return raw
	}
	m.Position += int32(utf8.RuneCountInString(e.sql[:at]))
	return encode(nil, &m)
}

// decide takes the decision that needs the settings and the description, and runs the statement.
func (s *session) decide(ctx context.Context, stop context.CancelCauseFunc, e *execution, d *description, status txStatus, against string) (outcome, error) {
	s.settle()
	if s.invalid != nil {
		return done, s.rejectHeld(e, s.invalid)
	}
	if e.class.Catalogs && e.class.Kind == Read && s.findsCatalogs() {
		e.class = e.class.ofCatalogs()
		return relayed, nil
	}
	if s.info.Settings.Route == RouteOLTP {
		if e.class.Kind == Explain || s.block.columnar {
			return s.turnDown(e, status, &RelayError{Reason: routeIsOLTP})
		}
		s.record(LastRun{Route: RouteOLTP.String(), Reason: routeIsOLTP})
		return relayed, nil
	}
	if against == "" {
		against = s.againstKnown(e, d, status)
	}
	if against != "" {
		return s.turnDown(e, status, &RelayError{Reason: against})
	}
	if t := s.info.StatementTimeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTimeout)
		defer cancel()
	}
	if t := s.timeouts.transaction; t > 0 && status == txIdle { // that of a block is PostgreSQL's to keep
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTransactionTimeout)
		defer cancel()
	}
	defer s.boundWrites(ctx)()
	w := s.watchClient(stop)
	r := &run{s: s, e: e, d: d, status: status}
	became, err := r.run(ctx, stop)
	if werr := w.end(); werr != nil {
		return done, werr
	}
	if s.ctx.Err() != nil {
		return done, context.Cause(s.ctx)
	}
	if err != nil && ctx.Err() != nil { // an answer that is complete stays one, as from PostgreSQL
		err = context.Cause(ctx)
	}
	var relay *RelayError
	switch {
	case err == nil && became == relayed:
		return relayed, nil
	case endsSession(err):
		return done, err
	case ctx.Err() == nil && errors.As(err, &relay) && !r.began():
		return s.turnDown(e, status, relay)
	}
	return done, r.finish(err)
}

// findsCatalogs reports whether a system catalog is what its name means without a schema.
func (s *session) findsCatalogs() bool {
	return !s.info.TempTables && len(s.info.SearchPath) > 0 && s.info.SearchPath[0] == "pg_catalog"
}

// againstKnown says why an execution cannot be offered, now that PostgreSQL has said what it knows.
func (s *session) againstKnown(e *execution, d *description, status txStatus) string {
	i := &s.info
	q, inBlock := e.query(), status == txOpen
	switch {
	case inBlock && !s.block.readOnly:
		return "it is in a READ WRITE transaction block"
	case inBlock && s.block.wrote:
		return "its transaction may have written before it became READ ONLY"
	case inBlock && s.block.oltp && i.Isolation != readCommitted && !s.block.columnar:
		return "its transaction block began to read from PostgreSQL"
	case inBlock && q.class.Holds && i.Isolation != readCommitted:
		return "it is a cursor WITH HOLD of a block that keeps its snapshot"
	case e.moves != nil && i.meaning() != e.resume.meaning:
		return "settings were changed since its cursor was declared"
	case !i.StandardConformingStrings:
		return "standard_conforming_strings is off"
	case i.ClientEncoding != utf8Encoding:
		return clientEncodingIs + i.ClientEncoding
	case i.TempTables:
		return "the session has temporary tables"
	case d == nil || len(d.fields) == 0:
		return "it returns no columns"
	case q.extended() && len(q.bind.Parameters) != len(d.params):
		return "its Bind message does not fit"
	case e.extended() && len(e.bind.ResultFormatCodes) > 1 && len(e.bind.ResultFormatCodes) != len(d.fields) && (e.class.Kind == Read || e.moves != nil):
		return "its Bind message does not fit"
	case !q.extended() && len(d.params) > 0:
		return "it has parameters in a simple query"
	}
	if q.extended() && !q.validText(d.params) {
		return "a parameter is no text"
	}
	for _, f := range append(slices.Clone(e.bind.ParameterFormatCodes), e.bind.ResultFormatCodes...) {
		if f != 0 && f != 1 {
			return "its Bind message does not fit"
		}
	}
	return ""
}

const readCommitted = "read committed"

// turnDown relays a statement that the analytical route does not take, or refuses it
// where PostgreSQL must not run it either.
func (s *session) turnDown(e *execution, status txStatus, why *RelayError) (outcome, error) {
	if why.Stale {
		s.expire()
	}
	switch {
	case e.class.Kind == Explain:
		r := &run{s: s, e: e, status: status}
		return done, r.finish(r.plan([]string{"Route: " + s.info.Settings.Route.Otherwise(), "Reason: " + why.Error()}))
	case s.info.Settings.Route == RouteColumnar:
		r := routeInsists(why.Error())
		r.Code, r.Hint = cmp.Or(why.Code, r.Code), cmp.Or(why.Hint, r.Hint)
		return done, s.rejectHeld(e, r)
	case s.block.columnar:
		return done, s.rejectHeld(e, besideSnapshot(why.Error()))
	}
	s.record(LastRun{Route: RouteOLTP.String(), Reason: why.Error()})
	return relayed, nil
}

// isGone reports whether an error means that there is nobody left to answer.
func isGone(err error) bool { return errors.Is(err, errClientGone) || errors.Is(err, io.EOF) }
