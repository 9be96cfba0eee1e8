package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// MessageBytes is the most that a message may take where nothing else is set: a row is one message.
const MessageBytes = 64 << 20

// Config says how to reach a cluster. Brokers is required; nil TLS and SASL mean an open, unencrypted cluster.
type Config struct {
	// Brokers are the bootstrap addresses, host:port.
	Brokers []string `json:"brokers"`
	// ClientID names the client in the brokers' logs and quotas. Empty: "freshet".
	ClientID string `json:"client_id,omitempty"`
	TLS      *TLS   `json:"tls,omitempty"`
	SASL     *SASL  `json:"sasl,omitempty"`
}

// Mechanism is a SASL mechanism, by the name that Kafka gives it.
type Mechanism string

// The mechanisms.
const (
	SCRAM512 Mechanism = "SCRAM-SHA-512"
	SCRAM256 Mechanism = "SCRAM-SHA-256"
	Plain    Mechanism = "PLAIN"
)

// SASL says who the client is. Mechanism PLAIN sends the password itself, and so is refused without TLS.
type SASL struct {
	// Mechanism is how it proves that. Empty: SCRAM-SHA-512.
	Mechanism Mechanism `json:"mechanism,omitempty"`
	User      string    `json:"user"`
	Password  Secret    `json:"password"`
}

const (
	// dialTimeout bounds one attempt to connect, with the TLS handshake.
	dialTimeout = 10 * time.Second
	// firstRetry and lastRetry are the pauses between attempts while a broker does not answer. The client's own grow to
	// 5 s: readers would stand still for so long after the broker is back.
	firstRetry, lastRetry = 100 * time.Millisecond, time.Second
)

// retryPause returns how long to wait after a number of failures in a row.
func retryPause(failures int) time.Duration {
	return min(firstRetry<<min(max(failures-1, 0), 4), lastRetry)
}

// Options returns the client options that reach the cluster. It reads the files that the configuration
// names, so that what is wrong with them is told now and not at the first connection.
func (c Config) Options() ([]kgo.Opt, error) {
	if len(c.Brokers) == 0 {
		return nil, errors.New("configure Kafka: no brokers; give the bootstrap addresses")
	}
	for _, b := range c.Brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			return nil, fmt.Errorf("configure Kafka: broker %q: %w; give host:port", b, err)
		}
	}
	id := c.ClientID
	if id == "" {
		id = "freshet"
	}
	options := []kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.ClientID(id), kgo.RetryBackoffFn(retryPause), kgo.MetadataMinAge(lastRetry)}
	if c.TLS != nil {
		if _, err := c.TLS.Client(); err != nil {
			return nil, fmt.Errorf("configure Kafka: %w", err)
		}
		options = append(options, kgo.Dialer(c.TLS.Dial))
	}
	if c.SASL != nil {
		mechanism, err := c.SASL.mechanism(c.TLS != nil)
		if err != nil {
			return nil, fmt.Errorf("configure Kafka: %w", err)
		}
		options = append(options, kgo.SASL(mechanism))
	}
	return options, nil
}

// mechanism reads the password once for each connection.
func (s SASL) mechanism(encrypted bool) (sasl.Mechanism, error) {
	if s.User == "" {
		return nil, errors.New("SASL without a user")
	}
	if password, err := s.Password.Read(); err != nil {
		return nil, fmt.Errorf("SASL password of %s: %w", s.User, err)
	} else if password == "" {
		return nil, fmt.Errorf("SASL password of %s is empty", s.User)
	}
	auth := func(context.Context) (scram.Auth, error) {
		password, err := s.Password.Read()
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case "", SCRAM512:
		return scram.Sha512(auth), nil
	case SCRAM256:
		return scram.Sha256(auth), nil
	case Plain:
		if !encrypted {
			return nil, errors.New("SASL mechanism PLAIN would send the password unencrypted; use TLS or SCRAM")
		}
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := s.Password.Read()
			return plain.Auth{User: s.User, Pass: password}, err
		}), nil
	}
	return nil, fmt.Errorf("SASL mechanism %q is unknown: use %s, %s or %s", s.Mechanism, SCRAM512, SCRAM256, Plain)
}

// FromEnvironment reads a configuration from variables that begin with prefix, such as FRESHET_KAFKA_: BROKERS (by
// commas), TLS (true or false), TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE, TLS_SERVER_NAME, SASL_MECHANISM, SASL_USER,
// SASL_PASSWORD and SASL_PASSWORD_FILE. Any TLS_ variable turns TLS on, SASL_USER turns SASL on. lookup is usually
// os.LookupEnv.
func FromEnvironment(prefix string, lookup func(string) (string, bool)) Config {
	get := func(name string) string {
		value, _ := lookup(prefix + name)
		return strings.TrimSpace(value)
	}
	var c Config
	for b := range strings.SplitSeq(get("BROKERS"), ",") {
		if b = strings.TrimSpace(b); b != "" {
			c.Brokers = append(c.Brokers, b)
		}
	}
	c.TLS = TLSFromEnvironment(prefix, lookup)
	if user := get("SASL_USER"); user != "" {
		password, _ := lookup(prefix + "SASL_PASSWORD") // as it is: blanks may belong to it
		c.SASL = &SASL{Mechanism: Mechanism(get("SASL_MECHANISM")), User: user, Password: Secret{Value: password, File: get("SASL_PASSWORD_FILE")}}
	}
	return c
}
