package shares

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/freshet-io/freshet/gateway/freshness"
)

// File is the file of tenants, in YAML or JSON. Fields that it does not know are errors.
type File struct {
	Tenants []FileTenant `json:"tenants"`
}

// FileTenant is a tenant as a file names it; see [Tenant].
type FileTenant struct {
	Name      string         `json:"name"`
	Users     []string       `json:"users,omitempty"`
	Shares    int            `json:"shares,omitempty"`
	Limits    FileLimits     `json:"limits,omitzero"`
	Freshness *FileFreshness `json:"freshness,omitempty"`
}

// FileLimits are [Limits]; memory is written as in Kubernetes (512Mi, 2G), a time as in Go (90s, 1m30s).
type FileLimits struct {
	Concurrency int                `json:"concurrency,omitempty"`
	Queue       int                `json:"queue,omitempty"`
	Memory      *resource.Quantity `json:"memory,omitempty"`
	Time        Duration           `json:"time,omitempty"`
}

// FileFreshness is [Freshness]. An empty mode is bounded.
type FileFreshness struct {
	Mode         string    `json:"mode,omitempty"`
	MaxStaleness *Duration `json:"maxStaleness,omitempty"`
}

// Duration is written as text.
type Duration time.Duration

// MarshalJSON implements [json.Marshaler].
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return errors.New(`a duration is needed, such as "30s"`)
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}

// Parse reads a file of tenants.
func Parse(data []byte) (*Table, error) {
	var f File
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return nil, fmt.Errorf("parse tenants: %w", err)
	}
	tenants := make([]Tenant, len(f.Tenants))
	for i, n := range f.Tenants {
		var err error
		if tenants[i], err = n.tenant(); err != nil {
			return nil, fmt.Errorf("parse tenants: tenant %q: %w", n.Name, err)
		}
	}
	t, err := NewTable(tenants)
	if err != nil {
		return nil, fmt.Errorf("parse tenants: %w", err)
	}
	t.digest = Digest(data)
	return t, nil
}

func (n FileTenant) tenant() (Tenant, error) {
	out := Tenant{Name: n.Name, Users: n.Users, Shares: n.Shares, Limits: Limits{
		Concurrency: n.Limits.Concurrency, Queue: n.Limits.Queue, Time: time.Duration(n.Limits.Time),
	}}
	if m := n.Limits.Memory; m != nil {
		if out.Limits.Memory = m.Value(); out.Limits.Memory == math.MaxInt64 {
			return out, fmt.Errorf("limits.memory: %s is out of range", m)
		}
	}
	f := n.Freshness
	if f == nil {
		return out, nil
	}
	out.Freshness = &Freshness{MaxStaleness: (*time.Duration)(f.MaxStaleness)}
	if bound := f.MaxStaleness; bound != nil && *bound < 0 {
		return out, errors.New("freshness.maxStaleness is negative")
	}
	if f.Mode == "" {
		return out, nil
	}
	var err error
	if out.Freshness.Mode, err = freshness.ParseMode(f.Mode); err != nil {
		return out, fmt.Errorf("freshness.mode: %w", err)
	}
	return out, nil
}

// Render writes a file that [Parse] reads.
func Render(f File) ([]byte, error) {
	data, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("write tenants: %w", err)
	}
	return data, nil
}

// Digest identifies the content of a file.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
