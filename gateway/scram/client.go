package scram

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// Client leads the gateway's login at PostgreSQL in a role's name, by keys instead of its password. First, Challenge, Final and Verify are called
// once each, in this order.
type Client struct {
	binding []byte

	nonce, bare, serverFirst string
	auth                     []byte // RFC 5802's AuthMessage
}

// NewClient begins a login with the binding data of the channel to PostgreSQL; empty: without binding.
func NewClient(binding []byte) *Client {
	nonce := rand.Text()
	return &Client{binding: binding, nonce: nonce, bare: "n=,r=" + nonce} // PostgreSQL takes the role from the startup packet
}

// Mechanism is what the client chooses.
func (c *Client) Mechanism() string {
	if len(c.binding) == 0 {
		return Mechanism
	}
	return MechanismPlus
}

func (c *Client) gs2() string {
	if len(c.binding) == 0 {
		return "n,,"
	}
	return "p=tls-server-end-point,,"
}

// First returns client-first-message.
func (c *Client) First() string { return c.gs2() + c.bare }

// Challenge is how a role's password becomes its keys.
type Challenge struct{ salt, iterations string }

// Challenge takes server-first-message.
func (c *Client) Challenge(message string) (Challenge, error) {
	values, err := attributes(message, "rsi")
	if err != nil {
		return Challenge{}, err
	}
	if !strings.HasPrefix(values[0], c.nonce) || len(values[0]) == len(c.nonce) {
		return Challenge{}, errors.New("log in by SCRAM: PostgreSQL's nonce does not continue the gateway's")
	}
	c.serverFirst, c.nonce = message, values[0]
	return Challenge{salt: values[1], iterations: values[2]}, nil
}

// Final returns client-final-message, which proves knowledge of the ClientKey.
func (c *Client) Final(clientKey []byte) string {
	bound := append([]byte(c.gs2()), c.binding...)
	final := "c=" + base64.StdEncoding.EncodeToString(bound) + ",r=" + c.nonce
	c.auth = []byte(c.bare + "," + c.serverFirst + "," + final)
	stored := sha256.Sum256(clientKey)
	return final + ",p=" + base64.StdEncoding.EncodeToString(xor(clientKey, mac(stored[:], c.auth)))
}

// Verify takes server-final-message: whether PostgreSQL knows the role's keys itself.
func (c *Client) Verify(message string, k Keys) error {
	values, err := attributes(message, "v")
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(values[0])
	if err != nil || !hmac.Equal(signature, mac(k.Server, c.auth)) {
		return errors.New("log in by SCRAM: the server does not know the role's keys; somebody may be in the way")
	}
	return nil
}
