package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"
)

// Report is the state of a platform as seen from outside.
type Report struct {
	State
	Dir string `json:"dir"`
	// URL is the user's connection string, password included; empty unless the platform runs.
	URL string `json:"url,omitempty"`
	// Replica is the gateway's own account; nil while it does not answer.
	Replica *Replica `json:"replica,omitempty"`
}

// Replica is what the gateway says of the columnar replica.
type Replica struct {
	Ready bool `json:"ready"`
	// StalenessMS is the newest snapshot's age in milliseconds, -1 without a snapshot.
	StalenessMS float64    `json:"staleness_ms"`
	Position    string     `json:"position,omitempty"`
	Stopped     *Condition `json:"stopped,omitempty"`
	// Problem is why there is no replica at present, which is tried again.
	Problem  string         `json:"problem,omitempty"`
	Pipeline *Pipeline      `json:"pipeline,omitempty"` // of a stream over Kafka
	Tables   []ReplicaTable `json:"tables,omitempty"`
}

// Pipeline is how far Kafka and Debezium are, as the gateway sees them.
type Pipeline struct {
	Transport string `json:"transport"`
	Connector string `json:"connector,omitempty"`
	Task      string `json:"task,omitempty"`
	// LagRecords are messages not read yet, LagBytes is the log since the newest transaction that was handed over,
	// SlotBytes the log that PostgreSQL keeps for Kafka.
	LagRecords int64  `json:"lag_records"`
	LagBytes   int64  `json:"lag_bytes"`
	SlotBytes  int64  `json:"slot_bytes"`
	Unknown    string `json:"unknown,omitempty"`
}

// ReplicaTable is the replication state of one table.
type ReplicaTable struct {
	Table   string     `json:"table"`
	Phase   string     `json:"phase"`
	Rows    int64      `json:"rows"` // in the snapshot; while it is being copied, those that have come
	Stopped *Condition `json:"stopped,omitempty"`
	// Omitted are the columns that are not replicated: what reads them runs on PostgreSQL.
	Omitted []OmittedColumn `json:"omitted,omitempty"`
}

// OmittedColumn is a column that is not replicated, and why. The detail completes "column … ".
type OmittedColumn struct {
	Column string `json:"column"`
	Condition
}

// Condition needs a person; docs/runbook.md has a section for every code.
type Condition struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Inspect reads the state of a platform. What a killed supervisor left written is not believed.
func Inspect(ctx context.Context, dir string) (Report, error) {
	state, err := readState(dir)
	if err != nil {
		return Report{}, err
	}
	r := Report{State: state, Dir: dir}
	if state.Phase == Stopped {
		return r, nil
	}
	if !state.Supervisor.Alive() {
		r.Phase = Stopped
	}
	for i := range r.Components {
		c := &r.Components[i]
		c.Up = c.Up && c.Process.Alive()
	}
	if r.Phase != Running {
		return r, nil
	}
	var secrets Credentials
	switch err := readJSON(filepath.Join(dir, credentialsFile), &secrets, "freshet local down, delete it, and freshet local up makes new ones"); {
	case errors.Is(err, fs.ErrPermission):
		// Another user may look, without the password.
	case err != nil:
		return r, err
	default:
		r.URL = secrets.URL(r.Endpoint)
	}
	r.Replica, _ = ReadReplica(ctx, r.Monitor) // a gateway that is down says nothing; its component says so
	return r, nil
}

// ReadReplica asks a gateway's monitoring port, host:port, for the state of its replica.
func ReadReplica(ctx context.Context, monitor string) (*Replica, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+monitor+"/status", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway for its state: %w", err)
	}
	defer resp.Body.Close()
	var r Replica
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return nil, fmt.Errorf("ask the gateway for its state: %w", err)
	}
	return &r, nil
}
