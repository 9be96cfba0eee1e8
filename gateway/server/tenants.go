package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/shares"
)

// tenants are those in force, and what keeps them so.
type tenants struct {
	directory *shares.Directory
	watcher   *shares.Watcher // nil without a file
}

func newTenants(cfg Config, reg prometheus.Registerer) *tenants {
	t := &tenants{directory: shares.NewDirectory()}
	if cfg.TenantsFile != "" {
		t.watcher = shares.NewWatcher(cfg.TenantsFile, t.directory, cfg.Logger, reg)
	}
	return t
}

// run follows the file until ctx ends.
func (t *tenants) run(ctx context.Context) error {
	if t.watcher == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return t.watcher.Run(ctx)
}

// defaults puts what a user's tenant says of freshness over the gateway's defaults.
func (t *tenants) defaults(user string, d pgwire.Settings) pgwire.Settings {
	f := t.directory.Of(user).Freshness
	if f == nil {
		return d
	}
	d.Freshness = f.Mode
	if f.MaxStaleness != nil {
		d.MaxStaleness = *f.MaxStaleness
	}
	return d
}

// describe adds what is to be said of the tenants to a gateway's status.
func (t *tenants) describe(s Status) Status {
	if t.watcher != nil {
		s.Tenants = &TenantsStatus{Digest: t.directory.Table().Digest(), Problem: t.watcher.Problem()}
	}
	return s
}
