package scram

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Server leads the client's login. First and Final are called once each, in this order.
type Server struct {
	keys Keys
	// binding is the channel's binding data; empty: there is none, and MechanismPlus was not offered.
	binding []byte

	gs2, clientBare, serverFirst string
	nonce                        string
	plus                         bool
	auth                         []byte // RFC 5802's AuthMessage
}

// NewServer begins a login by a role's keys, with the binding data of the client's channel; empty data: it cannot be bound to.
func NewServer(k Keys, binding []byte) *Server { return &Server{keys: k, binding: binding} }

// Mechanisms are what the client may choose from.
func (s *Server) Mechanisms() []string {
	if len(s.binding) == 0 {
		return []string{Mechanism}
	}
	return []string{MechanismPlus, Mechanism}
}

// ErrNegotiation is a client that could bind to the channel and claims that it was not offered: somebody has changed the offer.
var ErrNegotiation = errors.New("SCRAM channel binding negotiation error")

// First takes client-first-message and returns server-first-message, with PostgreSQL's challenge for the role.
func (s *Server) First(mechanism, message string, c Challenge) (string, error) {
	flag, rest, ok := strings.Cut(message, ",")
	authzid, bare, ok2 := strings.Cut(rest, ",")
	if !ok || !ok2 {
		return "", errors.New("read a SCRAM message: it has no header")
	}
	s.plus = mechanism == MechanismPlus
	switch {
	case mechanism != Mechanism && (!s.plus || len(s.binding) == 0):
		return "", fmt.Errorf("read a SCRAM message: mechanism %q was not offered", mechanism)
	case s.plus != strings.HasPrefix(flag, "p="):
		return "", errors.New("read a SCRAM message: its channel binding does not fit its mechanism")
	case s.plus && flag != "p=tls-server-end-point":
		return "", fmt.Errorf("read a SCRAM message: unsupported channel binding %q", flag)
	case flag == "y" && len(s.binding) > 0:
		return "", ErrNegotiation
	case !s.plus && flag != "y" && flag != "n":
		return "", fmt.Errorf("read a SCRAM message: unexpected channel binding flag %q", flag)
	case authzid != "":
		return "", errors.New("read a SCRAM message: it asks for an authorization identity, which is not supported")
	}
	values, err := attributes(bare, "nr") // mandatory extensions come as m= before them, and are refused so
	if err != nil {
		return "", err
	}
	s.gs2, s.clientBare, s.nonce = flag+","+authzid+",", bare, values[1]+rand.Text()
	s.serverFirst = fmt.Sprintf("r=%s,s=%s,i=%s", s.nonce, c.salt, c.iterations)
	return s.serverFirst, nil
}

// Final takes client-final-message and returns the role's ClientKey, provided that the client knows the password. What it returns for any
// other client fits no stored key.
func (s *Server) Final(message string) (clientKey []byte, err error) {
	at := strings.LastIndex(message, ",p=")
	if at < 0 {
		return nil, errors.New("read a SCRAM message: it has no proof")
	}
	values, err := attributes(message[:at], "cr")
	if err != nil {
		return nil, err
	}
	bound := []byte(s.gs2)
	if s.plus {
		bound = append(bound, s.binding...)
	}
	proof, err := base64.StdEncoding.DecodeString(message[at+len(",p="):])
	switch {
	case err != nil || len(proof) != len(s.keys.Stored):
		return nil, errors.New("read a SCRAM message: its proof is malformed")
	case !hmac.Equal([]byte(values[0]), []byte(base64.StdEncoding.EncodeToString(bound))):
		return nil, errors.New("SCRAM channel binding check failed")
	case values[1] != s.nonce:
		return nil, errors.New("read a SCRAM message: its nonce does not match")
	}
	s.auth = []byte(s.clientBare + "," + s.serverFirst + "," + message[:at])
	return xor(proof, mac(s.keys.Stored, s.auth)), nil
}

// Signature is server-final-message, by which the client sees that its server knows the verifier. It must be sent only once
// PostgreSQL has accepted the login.
func (s *Server) Signature() string {
	return "v=" + base64.StdEncoding.EncodeToString(mac(s.keys.Server, s.auth))
}
