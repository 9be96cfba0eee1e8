package pgwire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/gateway/scram"
)

// leadLogin leads the client's and PostgreSQL's side of a SCRAM login apart, where both are encrypted and the role's verifier can be read:
// see package [scram]. It takes PostgreSQL's request for SASL and returns when the client is logged in, or false, with nothing done, where
// the messages are to be relayed.
func (s *session) leadLogin(ctx context.Context, request []byte) (bool, error) {
	backend, encrypted := s.server.(*tls.Conn)
	if !encrypted || !usesTLS(s.client) || s.srv.cfg.Verifier == nil {
		return false, nil
	}
	var offer pgproto3.AuthenticationSASL
	if err := offer.Decode(request[headerSize:]); err != nil || !slices.Contains(offer.AuthMechanisms, scram.MechanismPlus) {
		return false, nil
	}
	stored, err := s.srv.cfg.Verifier(ctx, s.info.SessionUser)
	if err != nil {
		return false, nil
	}
	keys, err := scram.ParseKeys(stored)
	if err != nil { // no such role, or one without such a password: PostgreSQL will refuse it
		keys = scram.NoKeys()
	}
	client, server := scram.NewServer(keys, endPoint(s.encryption)), scram.NewClient(scram.EndPoint(backend.ConnectionState().PeerCertificates[0]))
	challenge, err := s.begin(server)
	if err != nil {
		return false, err
	}
	key, err := s.askClient(client, challenge)
	if err != nil {
		return false, err
	}
	if err := s.logIn(server, key, keys); err != nil {
		return false, err
	}
	return true, s.reply(&pgproto3.AuthenticationSASLFinal{Data: []byte(client.Signature())})
}

// begin begins to log in at PostgreSQL.
func (s *session) begin(login *scram.Client) (scram.Challenge, error) {
	answer, err := s.exchange(&pgproto3.SASLInitialResponse{AuthMechanism: login.Mechanism(), Data: []byte(login.First())}, pgproto3.AuthTypeSASLContinue)
	if err != nil {
		return scram.Challenge{}, err
	}
	challenge, err := login.Challenge(answer)
	if err != nil {
		return challenge, &Error{Code: codeConnectionFailure, Message: "the gateway cannot log in at PostgreSQL", Detail: err.Error(), Hint: "Connect again."}
	}
	return challenge, nil
}

// askClient lets the client prove its password, and returns the key that the proof reveals.
func (s *session) askClient(login *scram.Server, challenge scram.Challenge) (clientKey []byte, err error) {
	if err := s.reply(&pgproto3.AuthenticationSASL{AuthMechanisms: login.Mechanisms()}); err != nil {
		return nil, err
	}
	raw, err := s.readAnswer()
	if err != nil {
		return nil, err
	}
	var first pgproto3.SASLInitialResponse
	if err := first.Decode(raw[headerSize:]); err != nil {
		return nil, &Error{Code: codeProtocolViolation, Message: "malformed SCRAM message"}
	}
	answer, err := login.First(first.AuthMechanism, string(first.Data), challenge)
	if errors.Is(err, scram.ErrNegotiation) {
		return nil, &Error{Code: codeInvalidAuthorization, Message: err.Error(),
			Detail: "The client supports SCRAM channel binding but thinks the server does not. However, this server does support channel binding."}
	}
	if err != nil {
		return nil, &Error{Code: codeProtocolViolation, Message: "malformed SCRAM message", Detail: err.Error()}
	}
	if err := s.reply(&pgproto3.AuthenticationSASLContinue{Data: []byte(answer)}); err != nil {
		return nil, err
	}
	if raw, err = s.readAnswer(); err != nil {
		return nil, err
	}
	if clientKey, err = login.Final(string(raw[headerSize:])); err != nil {
		return nil, &Error{Code: codeInvalidAuthorization, Message: "SCRAM authentication failed", Detail: err.Error()}
	}
	return clientKey, nil
}

// logIn ends the login at PostgreSQL by the client's key. A refusal goes to the client in PostgreSQL's words.
func (s *session) logIn(login *scram.Client, clientKey []byte, keys scram.Keys) error {
	verdict, err := s.exchange(&pgproto3.SASLResponse{Data: []byte(login.Final(clientKey))}, pgproto3.AuthTypeSASLFinal)
	if err != nil {
		return err
	}
	if err := login.Verify(verdict, keys); err != nil {
		return &Error{Code: codeConnectionFailure, Message: "the gateway does not trust PostgreSQL", Detail: err.Error(), Hint: "Connect again."}
	}
	return nil
}

// exchange sends PostgreSQL a message and returns the data of its answer, an authentication request of this type.
func (s *session) exchange(m pgproto3.FrontendMessage, want uint32) (string, error) {
	if _, err := s.server.Write(encode(nil, m)); err != nil {
		return "", &Error{Code: codeConnectionFailure, Message: "the connection to PostgreSQL failed", Detail: err.Error(), Hint: "Connect again."}
	}
	kind, raw, err := s.nextAtStart(maxAuth)
	switch {
	case err != nil:
		return "", err
	case kind == 'E':
		_, err := s.client.Write(raw)
		return "", errors.Join(errors.New("authentication failed"), err)
	case kind != 'R' || len(raw) < headerSize+4 || binary.BigEndian.Uint32(raw[headerSize:]) != want:
		return "", &Error{Code: codeProtocolViolation, Message: "unexpected authentication message from PostgreSQL"}
	}
	return string(raw[headerSize+4:]), nil
}

// reply sends the client a message of the gateway's own.
func (s *session) reply(m pgproto3.BackendMessage) error {
	if _, err := s.client.Write(encode(nil, m)); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

func usesTLS(conn net.Conn) bool {
	if p, ok := conn.(peekedConn); ok {
		conn = p.Conn
	}
	_, ok := conn.(*tls.Conn)
	return ok
}

// endPoint returns the data by which clients bind to the endpoint's channels; nil where it may show several certificates.
func endPoint(cfg *tls.Config) []byte {
	if cfg == nil || len(cfg.Certificates) != 1 || cfg.GetCertificate != nil || cfg.GetConfigForClient != nil {
		return nil
	}
	cert, err := x509.ParseCertificate(cfg.Certificates[0].Certificate[0])
	if err != nil {
		return nil
	}
	return scram.EndPoint(cert)
}

// withoutChannelBinding takes SCRAM-SHA-256-PLUS from the mechanisms that PostgreSQL offers: it binds to the
// TLS channel, and the client's channel ends at the gateway.
func withoutChannelBinding(raw []byte) ([]byte, bool) {
	var m pgproto3.AuthenticationSASL
	if err := m.Decode(raw[headerSize:]); err != nil {
		return raw, false
	}
	var kept []string
	for _, name := range m.AuthMechanisms {
		if !strings.HasSuffix(name, "-PLUS") {
			kept = append(kept, name)
		}
	}
	if len(kept) == len(m.AuthMechanisms) {
		return raw, false
	}
	return encode(nil, &pgproto3.AuthenticationSASL{AuthMechanisms: kept}), true
}

// claimsNoBinding reports whether a SASLInitialResponse says that the client could bind to the channel but
// that the server does not offer it, which PostgreSQL takes for an attack.
func claimsNoBinding(raw []byte) bool {
	var m pgproto3.SASLInitialResponse
	return m.Decode(raw[headerSize:]) == nil && strings.HasPrefix(string(m.Data), "y,")
}
