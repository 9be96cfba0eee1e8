package debezium

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/kafka"
)

// REST says how to reach Kafka Connect's REST interface. The zero value means that there is none to talk to.
type REST struct {
	// URL is the interface's address: http or https. It holds no user and password.
	URL string `json:"url,omitempty"`
	// TLS verifies a server with https; nil trusts the system's authorities.
	TLS *kafka.TLS `json:"tls,omitempty"`
	// User and Password are sent by basic authentication; empty User: none. They are refused without https.
	User     string       `json:"user,omitempty"`
	Password kafka.Secret `json:"password,omitzero"`
}

// RESTFromEnvironment reads a configuration from variables that begin with prefix, such as FRESHET_CONNECT_: URL, USER, PASSWORD,
// PASSWORD_FILE and the TLS_ variables of [kafka.FromEnvironment]. lookup is usually os.LookupEnv.
func RESTFromEnvironment(prefix string, lookup func(string) (string, bool)) REST {
	get := func(name string) string {
		value, _ := lookup(prefix + name)
		return value
	}
	return REST{URL: get("URL"), TLS: kafka.TLSFromEnvironment(prefix, lookup), User: get("USER"), Password: kafka.Secret{Value: get("PASSWORD"), File: get("PASSWORD_FILE")}}
}

// newConnectClient checks what can be checked without a connection. Certificates and the password are read when they are needed.
func newConnectClient(cfg REST) (*connectClient, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https" || u.Host == "": // it may hold a password, and is not shown
		return nil, errors.New("configure Kafka Connect: its address cannot be read; give http://host:port or https://host:port")
	case u.User != nil:
		return nil, fmt.Errorf("configure Kafka Connect: the address %q holds a user; give user and password apart", u.Redacted())
	case cfg.User != "" && u.Scheme != "https":
		return nil, fmt.Errorf("configure Kafka Connect: the password of %s would be sent unencrypted to %s; use https", cfg.User, cfg.URL)
	case cfg.TLS != nil && u.Scheme != "https":
		return nil, fmt.Errorf("configure Kafka Connect: TLS is configured and the address is %s; use https", cfg.URL)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second}
	if u.Scheme == "https" {
		tls := kafka.TLS{}
		if cfg.TLS != nil {
			tls = *cfg.TLS
		}
		if _, err := tls.Client(); err != nil {
			return nil, fmt.Errorf("configure Kafka Connect: %w", err)
		}
		transport.DialTLSContext = tls.Dial
	}
	return &connectClient{
		base: strings.TrimSuffix(cfg.URL, "/"), user: cfg.User, password: cfg.Password,
		http: http.Client{Timeout: 30 * time.Second, Transport: transport},
	}, nil
}
