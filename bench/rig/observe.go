package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/local/process"
)

// clockTick is the unit of CPU times in /proc, the same on every Linux.
const clockTick = 10 * time.Millisecond

// CPU is the CPU time that each part has used since it started.
type CPU struct{ Postgres, Engine, Gateway, Self time.Duration }

// Sub returns what was used between before and c.
func (c CPU) Sub(before CPU) CPU {
	return CPU{c.Postgres - before.Postgres, c.Engine - before.Engine, c.Gateway - before.Gateway, c.Self - before.Self}
}

// CPU reads the CPU times. Self is the benchmark's own process, which runs the clients.
func (r *Rig) CPU() (CPU, error) {
	var c CPU
	for _, p := range []struct {
		pid  int
		into *time.Duration
	}{{r.Postgres.PID(), &c.Postgres}, {r.Engine.PID(), &c.Engine}, {r.gateway.PID(), &c.Gateway}, {os.Getpid(), &c.Self}} {
		own, err := CPUOf(p.pid)
		if err != nil {
			return c, err
		}
		*p.into = own
	}
	for _, child := range process.Descendants(r.Postgres.PID()) {
		if t, err := CPUOf(child.PID); err == nil { // a backend may end meanwhile; its time is then its parent's
			c.Postgres += t
		}
	}
	return c, nil
}

// CPUOf returns the CPU time of a process and of its children that were waited for. The benchmark's own
// children are not counted for it, since none ends while it measures.
func CPUOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	// The second field is the name in parentheses, which may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var ticks int64
	for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// Memory is a process's resident memory in bytes.
type Memory struct {
	Now int64 `json:"now"`
	// Peak is the highest since the start or the last ResetPeak.
	Peak int64 `json:"peak"`
}

// GatewayMemory reads the gateway's memory.
func (r *Rig) GatewayMemory() (Memory, error) { return MemoryOf(r.gateway.PID()) }

// ResetPeak makes the gateway's peak start from now.
func (r *Rig) ResetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", r.gateway.PID()), []byte("5"), 0)
}

// MemoryOf reads a process's memory.
func MemoryOf(pid int) (Memory, error) {
	var m Memory
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			m.Now = kib << 10
		case "VmHWM":
			m.Peak = kib << 10
		}
	}
	return m, nil
}

// gatewayStatus is the part of the gateway's /status that matters here.
type gatewayStatus struct {
	Ready   bool
	Stopped *struct{ Code, Detail, Remedy string }
	Tables  []gatewayTable
	Tenants struct{ Digest, Problem string }
}

type gatewayTable struct{ Table, Phase string }

// awaitReady waits until every table is copied.
func (r *Rig) awaitReady(ctx context.Context) error {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		s, err := r.status(ctx)
		if err != nil {
			return err
		}
		if s.Stopped != nil {
			return fmt.Errorf("replication stopped: %s: %s; %s", s.Stopped.Code, s.Stopped.Detail, s.Stopped.Remedy)
		}
		copying := slices.ContainsFunc(s.Tables, func(t gatewayTable) bool { return t.Phase == "copying" })
		if s.Ready && len(s.Tables) > 0 && !copying {
			return nil
		}
		select {
		case <-poll.C:
		case <-r.gateway.Done():
			return fmt.Errorf("the gateway ended: %w; its log ends:\n%s", r.gateway.Err(), process.LogTail(r.gatewayLog()))
		case <-ctx.Done():
			return fmt.Errorf("%w; the gateway's log ends:\n%s", ctx.Err(), process.LogTail(r.gatewayLog()))
		}
	}
}

func (r *Rig) status(ctx context.Context) (gatewayStatus, error) {
	var s gatewayStatus
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.info.MonitorListen+"/status", nil)
	if err != nil {
		return s, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, fmt.Errorf("ask the gateway for its status: %w", err)
	}
	defer res.Body.Close()
	return s, json.NewDecoder(res.Body).Decode(&s)
}

// CaughtUp waits until the replica holds everything that is committed now.
func (r *Rig) CaughtUp(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, r.Endpoint())
	if err != nil {
		return fmt.Errorf("wait until the replica has caught up: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	const sql = "SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'"
	if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("wait until the replica has caught up: %w", err)
	}
	if _, err := conn.PgConn().Exec(ctx, "SELECT count(*) FROM region").ReadAll(); err != nil {
		return fmt.Errorf("wait until the replica has caught up: %w", err)
	}
	return nil
}

// Query runs a statement in the engine itself and returns its answer as text, tab-separated unless it says otherwise.
func (r *Rig) Query(ctx context.Context, sql string, settings map[string]string) (string, error) {
	return r.post(ctx, settings, strings.NewReader(sql))
}

// Insert runs an INSERT in the engine itself with data in the format that it names.
func (r *Rig) Insert(ctx context.Context, sql string, data io.Reader) error {
	_, err := r.post(ctx, map[string]string{"query": sql}, data)
	return err
}

func (r *Rig) post(ctx context.Context, parameters map[string]string, body io.Reader) (string, error) {
	values := url.Values{}
	for k, v := range parameters {
		values.Set(k, v)
	}
	u := "http://" + r.Engine.HTTPAddr() + "/?" + values.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, body)
	if err != nil {
		return "", err
	}
	req.SetBasicAuth(r.Engine.User, r.Engine.Password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("query the engine: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return "", fmt.Errorf("query the engine: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("query the engine: %s", strings.TrimSpace(string(answer)))
	}
	return string(answer), nil
}
