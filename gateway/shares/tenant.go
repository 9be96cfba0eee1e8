package shares

import (
	"fmt"
	"time"

	"github.com/freshet-io/freshet/gateway/freshness"
)

// Bounds of a [Table].
const (
	// MaxTenants bounds the tenants, and with them the values of the label tenant.
	MaxTenants = 1000
	// MaxShares is the most that a tenant can have; the least is one.
	MaxShares = 1000
	// DefaultShares are those of a tenant that names none.
	DefaultShares = 100
)

// Everyone names the tenant of all users who are in no other, where no tenant without users is configured.
const Everyone = "default"

// Tenant is a set of users who share what the tenant may use.
type Tenant struct {
	// Name is the tenant's in metrics and errors.
	Name string
	// Users are the database roles, as they authenticate. Empty: everyone who is in no other tenant.
	Users []string
	// Shares weigh the tenant against others that want CPU at the same time.
	Shares int
	Limits Limits
	// Freshness is that of sessions that set none; nil: the gateway's.
	Freshness *Freshness
}

// Limits bound what a tenant may use, whether others want it or not. Zero: no bound.
type Limits struct {
	// Concurrency is how many queries run in the engine at once.
	Concurrency int
	// Queue is how many queries may wait for others to end; one more is refused.
	Queue int
	// Memory of one query in the engine, in bytes.
	Memory int64
	// Time that one query may run in the engine.
	Time time.Duration
}

// Freshness is how fresh the answers of a session are that sets nothing itself.
type Freshness struct {
	Mode freshness.Mode
	// MaxStaleness is the bound of mode bounded; nil: the gateway's. Zero is strong, as for a session.
	MaxStaleness *time.Duration
}

// Table says which tenant a user belongs to. It never changes.
type Table struct {
	byName, byUser map[string]*Tenant
	rest           *Tenant
	digest         string
}

// NewTable returns a table of the tenants, or an error that says which of them cannot be.
func NewTable(tenants []Tenant) (*Table, error) {
	t := &Table{byName: map[string]*Tenant{}, byUser: map[string]*Tenant{}}
	if len(tenants) > MaxTenants {
		return nil, fmt.Errorf("%d tenants: at most %d are possible", len(tenants), MaxTenants)
	}
	for i := range tenants {
		if err := t.add(tenants[i]); err != nil {
			return nil, fmt.Errorf("tenant %q: %w", tenants[i].Name, err)
		}
	}
	if t.rest == nil {
		t.rest = &Tenant{Name: Everyone, Shares: DefaultShares}
		t.byName[Everyone] = t.rest
	}
	return t, nil
}

func (t *Table) add(n Tenant) error {
	if n.Shares == 0 {
		n.Shares = DefaultShares
	}
	switch {
	case n.Name == "":
		return fmt.Errorf("it has no name")
	case t.byName[n.Name] != nil:
		return fmt.Errorf("another tenant has that name")
	case n.Name == Everyone && len(n.Users) > 0:
		return fmt.Errorf("it is the tenant of users who are in no other: name no users, or give it another name")
	case len(n.Users) == 0 && t.rest != nil:
		return fmt.Errorf("it names no users, and %q already is the tenant of users who are in no other", t.rest.Name)
	case n.Shares < 1 || n.Shares > MaxShares:
		return fmt.Errorf("%d shares: give 1 to %d", n.Shares, MaxShares)
	case n.Limits.Concurrency < 0 || n.Limits.Queue < 0 || n.Limits.Memory < 0 || n.Limits.Time < 0:
		return fmt.Errorf("a limit is negative: leave it out for none")
	}
	for _, user := range n.Users {
		if other := t.byUser[user]; other != nil {
			return fmt.Errorf("user %q is in tenant %q already", user, other.Name)
		}
		t.byUser[user] = &n
	}
	t.byName[n.Name] = &n
	if len(n.Users) == 0 {
		t.rest = &n
	}
	return nil
}

// Of returns the tenant of a user.
func (t *Table) Of(user string) *Tenant {
	if n := t.byUser[user]; n != nil {
		return n
	}
	return t.rest
}

// Digest identifies the file that the table was read from; empty: none.
func (t *Table) Digest() string { return t.digest }
