package scram

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Mechanism is the SASL mechanism, MechanismPlus the same with binding to the channel.
const (
	Mechanism     = "SCRAM-SHA-256"
	MechanismPlus = Mechanism + "-PLUS"
)

// Keys are what PostgreSQL stores of a password, beside salt and iterations, which a login's challenge tells anybody.
type Keys struct{ Stored, Server []byte }

// ParseKeys reads pg_authid.rolpassword: SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey. The error does not repeat any of it.
func ParseKeys(verifier string) (Keys, error) {
	bad := errors.New("read a SCRAM verifier: it is not SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey")
	parts := strings.Split(verifier, "$")
	if len(parts) != 3 || parts[0] != Mechanism {
		return Keys{}, bad
	}
	stored, server, _ := strings.Cut(parts[2], ":")
	var k Keys
	var errs [2]error
	k.Stored, errs[0] = base64.StdEncoding.DecodeString(stored)
	k.Server, errs[1] = base64.StdEncoding.DecodeString(server)
	if errors.Join(errs[:]...) != nil || len(k.Stored) != sha256.Size || len(k.Server) != sha256.Size {
		return Keys{}, bad
	}
	return k, nil
}

// NewVerifier returns what PostgreSQL stores of a password, which it takes in the password's place. The password must be ASCII: others would
// have to be normalized.
func NewVerifier(password string) (string, error) {
	const iterations, saltSize = 4096, 16 // PostgreSQL's
	salt := make([]byte, saltSize)
	rand.Read(salt)
	return newVerifier(password, salt, iterations)
}

func newVerifier(password string, salt []byte, iterations int) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("make a SCRAM verifier: %w", err)
	}
	stored := sha256.Sum256(mac(salted, []byte("Client Key")))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", Mechanism, iterations, text(salt), text(stored[:]), text(mac(salted, []byte("Server Key")))), nil
}

// NoKeys returns keys that no password fits. With them a login goes as any other until PostgreSQL refuses it: who asks for a role that is
// not there must not notice that earlier.
func NoKeys() Keys {
	random := make([]byte, 2*sha256.Size)
	rand.Read(random)
	return Keys{Stored: random[:sha256.Size], Server: random[sha256.Size:]}
}

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}

func xor(a, b []byte) []byte {
	out := make([]byte, len(a))
	for i := range a {
		out[i] = a[i] ^ b[i]
	}
	return out
}

// attributes reads "a=…,b=…", whose names must be these, in this order. What follows them is ignored, as RFC 5802 wants it of extensions.
func attributes(message, names string) ([]string, error) {
	parts := strings.Split(message, ",")
	if len(parts) < len(names) {
		return nil, fmt.Errorf("read a SCRAM message: %d attributes instead of %d", len(parts), len(names))
	}
	values := make([]string, len(names))
	for i := range names {
		value, ok := strings.CutPrefix(parts[i], names[i:i+1]+"=")
		if !ok {
			return nil, fmt.Errorf("read a SCRAM message: attribute %d is not %c", i+1, names[i])
		}
		values[i] = value
	}
	return values, nil
}
