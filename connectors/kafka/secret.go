package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Secret is a password: a value, or a file that holds it and wins. It prints as "(secret)".
type Secret struct {
	Value string `json:"value,omitempty"`
	File  string `json:"file,omitempty"`
}

// Read returns the secret as it is now. A file's last line break does not belong to it.
func (s Secret) Read() (string, error) {
	if s.File == "" {
		return s.Value, nil
	}
	b, err := os.ReadFile(s.File)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if strings.ContainsAny(secret, "\r\n") {
		return "", errors.New("read secret: file " + s.File + " holds more than one line")
	}
	return secret, nil
}

// String hides the secret.
func (s Secret) String() string { return "(secret)" }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the secret from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
