package kafka

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestConfig_isReadFromTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		vars map[string]string
		want Config
	}{
		"nothing": {},
		"open":    {map[string]string{"K_BROKERS": "a:1, b:2,"}, Config{Brokers: []string{"a:1", "b:2"}}},
		"TLS with the system's authorities": {map[string]string{"K_BROKERS": "a:1", "K_TLS": "true"},
			Config{Brokers: []string{"a:1"}, TLS: &TLS{}}},
		"TLS by another word":    {map[string]string{"K_TLS": "1"}, Config{TLS: &TLS{}}},
		"TLS by an unknown word": {map[string]string{"K_TLS": "yes"}, Config{TLS: &TLS{}}},
		"TLS turned off":         {map[string]string{"K_TLS": "false"}, Config{}},
		"everything": {map[string]string{"K_BROKERS": "a:1", "K_TLS_CA_FILE": "ca", "K_TLS_CERT_FILE": "cert", "K_TLS_KEY_FILE": "key", "K_TLS_SERVER_NAME": "kafka",
			"K_SASL_MECHANISM": "SCRAM-SHA-256", "K_SASL_USER": "u", "K_SASL_PASSWORD": " p ", "K_SASL_PASSWORD_FILE": "f"},
			Config{Brokers: []string{"a:1"}, TLS: &TLS{CAFile: "ca", CertFile: "cert", KeyFile: "key", ServerName: "kafka"},
				SASL: &SASL{Mechanism: SCRAM256, User: "u", Password: Secret{Value: " p ", File: "f"}}}},
	} {
		if diff := cmp.Diff(c.want, FromEnvironment("K_", environment(c.vars))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestConfig_refusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	noPEM := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(noPEM, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := []string{"127.0.0.1:1"}
	user := func(m Mechanism, password string) *SASL {
		return &SASL{Mechanism: m, User: "u", Password: Secret{Value: password}}
	}
	for want, c := range map[string]Config{
		"no brokers":             {},
		"give host:port":         {Brokers: []string{"localhost"}},
		"holds none in PEM":      {Brokers: at, TLS: &TLS{CAFile: noPEM}},
		"no such file":           {Brokers: at, TLS: &TLS{CAFile: filepath.Join(dir, "absent")}},
		"needs both":             {Brokers: at, TLS: &TLS{CertFile: noPEM}},
		"the client certificate": {Brokers: at, TLS: &TLS{CertFile: noPEM, KeyFile: noPEM}},
		"without a user":         {Brokers: at, SASL: &SASL{}},
		"is empty":               {Brokers: at, SASL: user(SCRAM512, "")},
		"is unknown":             {Brokers: at, SASL: user("GSSAPI", "p")},
		"unencrypted":            {Brokers: at, SASL: user(Plain, "p")},
	} {
		if _, err := c.Options(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if _, err := (Config{Brokers: at, TLS: &TLS{}, SASL: user(Plain, "p")}).Options(); err != nil {
		t.Errorf("PLAIN over TLS: %v", err)
	}
}

func TestSecret_isReadAnewAndNeverPrinted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	s := Secret{Value: "hunter2", File: file}
	for _, content := range []string{"first", "second\n", "third\r\n", " with blanks "} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(); err != nil || got != strings.TrimRight(content, "\r\n") {
			t.Errorf("read %q, error %v from a file with %q", got, err, content)
		}
	}
	if err := os.WriteFile(file, []byte("two\nlines\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("two lines: error %v", err)
	}
	c := Config{SASL: &SASL{User: "u", Password: s}}
	for _, printed := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v", *c.SASL, *c.SASL, *c.SASL)} {
		if strings.Contains(printed, "hunter2") {
			t.Errorf("the secret is printed: %s", printed)
		}
	}
}
