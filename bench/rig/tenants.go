package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-io/freshet/gateway/shares"
)

func (r *Rig) tenantsFile() string { return filepath.Join(r.dir, "tenants.yaml") }

// SetTenants writes the gateway's file of tenants and waits until it is in force, at most ten seconds.
func (r *Rig) SetTenants(ctx context.Context, content []byte) error {
	next := r.tenantsFile() + ".next"
	if err := errors.Join(os.WriteFile(next, content, 0o600), os.Rename(next, r.tenantsFile())); err != nil {
		return fmt.Errorf("write the tenants: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		s, err := r.status(ctx)
		if err != nil {
			return fmt.Errorf("wait until the tenants are in force: %w", err)
		}
		if s.Tenants.Digest == shares.Digest(content) {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until the tenants are in force: %w; the gateway says %q", ctx.Err(), s.Tenants.Problem)
		}
	}
}

// TenantCPU reads the engine's CPU time for each tenant, as the gateway's metric has it.
func (r *Rig) TenantCPU(ctx context.Context) (map[string]time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.info.MonitorListen+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read the tenants' CPU time: %w", err)
	}
	defer res.Body.Close()
	out := map[string]time.Duration{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), `freshet_tenant_cpu_seconds_total{tenant="`)
		tenant, value, found := strings.Cut(rest, `"} `)
		if !ok || !found {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("read the CPU time of tenant %s: %w", tenant, err)
		}
		out[tenant] = time.Duration(seconds * float64(time.Second))
	}
	return out, lines.Err()
}
