package pgwire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The request codes of packets that come before, or instead of, a startup packet.
const (
	codeSSLRequest    = 80877103
	codeGSSENCRequest = 80877104
	codeCancelRequest = 80877102
	// maxStartup is PostgreSQL's MAX_STARTUP_PACKET_LENGTH.
	maxStartup = 10_000
	// maxAuth is PostgreSQL's PG_MAX_AUTH_TOKEN_LENGTH, and room for the header.
	maxAuth = 65_535 + headerSize
)

// startupPacket is a first packet that was read.
type startupPacket struct {
	code uint32
	raw  []byte
}

// negotiate answers requests for encryption and returns the connection to go on
// with and its startup packet or cancel request.
func negotiate(ctx context.Context, conn net.Conn, cfg *tls.Config) (net.Conn, startupPacket, error) {
	br := bufio.NewReaderSize(conn, maxStartup)
	encrypted := false
	if first, err := br.Peek(1); err != nil {
		return conn, startupPacket{}, fmt.Errorf("read the startup packet: %w", err)
	} else if first[0] == 0x16 { // a TLS handshake without asking: PostgreSQL 17's sslnegotiation=direct
		t, err := acceptTLS(ctx, peekedConn{conn, br}, cfg, true)
		if t != nil {
			conn, encrypted = t, true
		}
		if err != nil {
			return conn, startupPacket{}, err
		}
		br = bufio.NewReaderSize(conn, maxStartup)
	}
	asked := map[uint32]bool{}
	for {
		p, err := readStartup(br)
		if err != nil {
			return conn, p, err
		}
		switch p.code {
		case codeGSSENCRequest, codeSSLRequest:
			if asked[p.code] {
				return conn, p, &Error{Code: codeFeatureUnsupported,
					Message: fmt.Sprintf("unsupported frontend protocol %d.%d: encryption was asked for before", p.code>>16, p.code&0xffff)}
			}
			asked[p.code] = true
			if br.Buffered() > 0 {
				return conn, p, &Error{Code: codeProtocolViolation, Message: "received unencrypted data after a request for encryption",
					Detail: "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack."}
			}
			if p.code == codeGSSENCRequest || cfg == nil || encrypted {
				if _, err := conn.Write([]byte{'N'}); err != nil {
					return conn, p, fmt.Errorf("refuse encryption: %w", err)
				}
				continue
			}
			if _, err := conn.Write([]byte{'S'}); err != nil {
				return conn, p, fmt.Errorf("accept encryption: %w", err)
			}
			t, err := acceptTLS(ctx, conn, cfg, false)
			if err != nil {
				return conn, p, err
			}
			conn, encrypted, asked[codeGSSENCRequest] = t, true, true
			br = bufio.NewReaderSize(conn, maxStartup)
		default:
			if br.Buffered() > 0 { // a client that does not wait, as a password sent ahead
				return peekedConn{conn, br}, p, nil
			}
			return conn, p, nil
		}
	}
}

func acceptTLS(ctx context.Context, conn net.Conn, cfg *tls.Config, direct bool) (*tls.Conn, error) {
	if cfg == nil {
		return nil, errors.New("accept TLS: the endpoint has no certificate")
	}
	t := tls.Server(conn, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("accept TLS: %w", err)
	}
	if direct && t.ConnectionState().NegotiatedProtocol != alpn {
		return t, &Error{Code: codeProtocolViolation, Message: "received direct SSL connection request without required ALPN protocol negotiation extension"}
	}
	return t, nil
}

func readStartup(r io.Reader) (startupPacket, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return startupPacket{}, fmt.Errorf("read the startup packet: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 8 || n > maxStartup { // whoever sent that is not told, as by PostgreSQL
		return startupPacket{}, errors.New("read the startup packet: invalid length")
	}
	p := startupPacket{raw: make([]byte, n)}
	copy(p.raw, head[:])
	if _, err := io.ReadFull(r, p.raw[4:]); err != nil {
		return p, fmt.Errorf("read the startup packet: %w", err)
	}
	p.code = binary.BigEndian.Uint32(p.raw[4:])
	return p, nil
}

// parameters returns what a startup packet sets. A packet that is not well formed yields what could be
// read: PostgreSQL gets it as it is, and refuses it in its own words.
func (p startupPacket) parameters() map[string]string {
	set := map[string]string{}
	rest := p.raw[8:]
	for len(rest) > 1 {
		name, after, ok := strings.Cut(string(rest), "\x00")
		value, left, ok2 := strings.Cut(after, "\x00")
		if !ok || !ok2 {
			break
		}
		set[name] = value
		rest = []byte(left)
	}
	return set
}

// settingsAtStart returns the freshet.* settings among the startup parameters and command-line options.
func settingsAtStart(parameters map[string]string) map[string]string {
	found := map[string]string{}
	add := func(name, value string) {
		if name = strings.ToLower(name); strings.HasPrefix(name, "freshet.") {
			found[name] = value
		}
	}
	for _, option := range splitOptions(parameters["options"]) {
		option = strings.TrimPrefix(strings.TrimPrefix(option, "-c"), "--")
		if name, value, ok := strings.Cut(option, "="); ok {
			add(strings.ReplaceAll(name, "-", "_"), value)
		}
	}
	for name, value := range parameters {
		add(name, value)
	}
	return found
}

// splitOptions splits command-line options at blanks, which a backslash escapes, as PostgreSQL does.
func splitOptions(s string) []string {
	var words []string
	var word []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			word = append(word, s[i])
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			if string(word) != "-c" { // "-c name=value" is one option
				words, word = append(words, string(word)), nil
			}
		default:
			word = append(word, c)
		}
	}
	return append(words, string(word))
}

// start brings the session to its first ReadyForQuery. It returns false when
// the connection is to end: a cancel request, or a refusal that the client has been told.
func (s *session) start(full bool) bool {
	ctx, cancel := context.WithTimeout(s.ctx, s.srv.cfg.StartupTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	if err := s.client.SetDeadline(deadline); err != nil {
		return false
	}
	conn, packet, err := negotiate(ctx, s.client, s.encryption)
	s.setClient(conn)
	if err != nil {
		return s.refuse(err)
	}
	if packet.code == codeCancelRequest {
		s.srv.relayCancel(ctx, packet.raw)
		return false
	}
	if err := s.login(ctx, packet, full); err != nil {
		return s.refuse(err)
	}
	if err := s.started(); err != nil {
		return s.refuse(err)
	}
	return true
}

// refuse tells the client why its start ends, for which there is a moment even when the time to start is up.
func (s *session) refuse(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok && s.client.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
		fatal(s.client, e)
	}
	return false
}

// errKerberos refuses methods whose messages each side may end without an answer, so that they cannot be relayed one by
// one.
var errKerberos = &Error{Code: codeInvalidAuthorization, Message: "GSSAPI and SSPI authentication cannot pass the gateway",
	Hint: "Let pg_hba.conf ask for scram-sha-256, or connect to PostgreSQL itself."}

// started lifts the deadline of the start, unless the server shuts down, which is to interrupt the session.
func (s *session) started() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	if err := errors.Join(s.client.SetDeadline(time.Time{}), s.server.SetDeadline(time.Time{})); err != nil {
		return err
	}
	if s.srv.ctx.Err() != nil {
		return errShutdown
	}
	return nil
}

func (s *session) login(ctx context.Context, packet startupPacket, full bool) error {
	if full {
		return &Error{Code: codeTooManyConnections, Message: "sorry, too many clients already", Hint: "The gateway's connection limit is reached."}
	}
	parameters := packet.parameters()
	var check Settings
	for name, value := range settingsAtStart(parameters) {
		if err := check.set(name, value); err != nil {
			return err
		}
		s.wantsColumnar = s.wantsColumnar || name == settingRoute
	}
	s.info.Database, s.info.ApplicationName = parameters["database"], parameters["application_name"]
	s.info.SessionUser = parameters["user"]
	if s.info.Database == "" {
		s.info.Database = parameters["user"]
	}
	switch parameters["replication"] {
	case "", "false", "off", "no", "0":
	default:
		s.blind, s.blindBack = true, true
	}
	server, err := s.srv.dial(ctx)
	if err != nil {
		return &Error{Code: codeCannotConnectNow, Message: "the gateway cannot reach PostgreSQL at " + s.srv.cfg.BackendAddress,
			Detail: err.Error(), Hint: "Check that PostgreSQL is running and accepts connections there, then connect again."}
	}
	s.setServer(server)
	deadline, _ := ctx.Deadline()
	if err := server.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := server.Write(packet.raw); err != nil {
		return &Error{Code: codeConnectionFailure, Message: "the connection to PostgreSQL failed", Detail: err.Error(), Hint: "Connect again."}
	}
	if packet.code>>16 < 3 { // PostgreSQL refuses it, by a message of that protocol, and hangs up
		_, err := io.Copy(s.client, server)
		return errors.Join(errors.New("the client speaks a protocol before 3.0"), err)
	}
	return s.authenticate(ctx)
}

// authenticate relays the messages of authentication one by one until PostgreSQL is ready for queries.
func (s *session) authenticate(ctx context.Context) error {
	s.fromServer.conn, s.fromClient.conn = s.server, s.client
	filtered, proved := false, false
	for {
		kind, raw, err := s.nextAtStart(maxHeld)
		if err != nil {
			return err
		}
		asks := false
		switch kind {
		case 'R':
			if len(raw) < headerSize+4 {
				return &Error{Code: codeProtocolViolation, Message: "malformed authentication request from PostgreSQL"}
			}
			switch request := binary.BigEndian.Uint32(raw[headerSize:]); request {
			case pgproto3.AuthTypeSASL:
				led, err := s.leadLogin(ctx, raw)
				if err != nil {
					return err
				}
				proved = true
				if led {
					continue
				}
				if s.srv.cfg.BackendTLS != nil {
					raw, filtered = withoutChannelBinding(raw)
				}
				asks = true
			case pgproto3.AuthTypeCleartextPassword, pgproto3.AuthTypeMD5Password:
				asks, proved = true, true // if PostgreSQL accepts the answer
			case pgproto3.AuthTypeOk:
				if err := s.admit(proved); err != nil {
					return err
				}
			case pgproto3.AuthTypeSASLFinal:
			case pgproto3.AuthTypeGSS, pgproto3.AuthTypeSSPI:
				return errKerberos
			default:
				asks = true
			}
		case 'K':
			s.srv.register(s, string(raw[headerSize:]))
		case 'S':
			s.noteParameter(raw[headerSize:])
		}
		if _, err := s.client.Write(raw); err != nil {
			return err
		}
		switch {
		case kind == 'E':
			return errors.New("authentication failed")
		case kind == 'Z' && len(raw) == headerSize+1:
			s.flow.setStatus(txStatus(raw[headerSize]))
			return nil
		case asks:
			if err := s.relayAnswer(filtered); err != nil {
				return err
			}
			filtered = false
		}
	}
}

// nextAtStart reads PostgreSQL's next message while it starts the session.
func (s *session) nextAtStart(limit int) (kind byte, raw []byte, err error) {
	kind, raw, err = s.fromServer.next(limit)
	switch {
	case err == nil:
		return kind, raw, nil
	case isTimeout(err):
		return 0, nil, s.timeout()
	}
	return 0, nil, &Error{Code: codeConnectionFailure, Message: "PostgreSQL closed the connection during its start", Detail: err.Error(), Hint: "Connect again."}
}

// timeout says what a deadline that passed during the start means.
func (s *session) timeout() error {
	if s.srv.ctx.Err() != nil {
		return errShutdown
	}
	return &Error{Code: codeQueryCanceled, Message: "canceling authentication due to timeout"}
}

// readAnswer reads the client's answer to an authentication request.
func (s *session) readAnswer() ([]byte, error) {
	kind, raw, err := s.fromClient.next(maxAuth)
	switch {
	case errors.Is(err, errMalformed) || err == nil && kind != 'p':
		return nil, &Error{Code: codeProtocolViolation, Message: fmt.Sprintf("expected password response, got message type %d", kind)}
	case isTimeout(err):
		return nil, s.timeout()
	}
	return raw, err
}

// relayAnswer relays the client's answer to an authentication request.
func (s *session) relayAnswer(filtered bool) error {
	raw, err := s.readAnswer()
	if err != nil {
		return err
	}
	if filtered && claimsNoBinding(raw) {
		return &Error{Code: codeProtocolViolation, Message: "SCRAM with channel binding cannot pass the gateway while both sides use TLS",
			Hint: "Connect with channel_binding=disable, or let the gateway lead logins: GRANT SELECT (rolname, rolpassword) ON pg_catalog.pg_authid to its role."}
	}
	_, err = s.server.Write(raw)
	return err
}
