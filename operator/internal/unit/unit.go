package unit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Status is what the operator reads of a gateway's /status.
type Status struct {
	// Ready says that the snapshot is no staler than the objective, and has once had all tables.
	Ready bool `json:"ready"`
	// Position is the snapshot's; empty without one.
	Position    string  `json:"position"`
	StalenessMS float64 `json:"staleness_ms"`
	// Stopped is set when replication waits for a person.
	Stopped *Stopped `json:"stopped"`
	// Problem is what hinders replication, and is tried again.
	Problem string  `json:"problem"`
	Tables  []Table `json:"tables"`
	// Tenants says which file of tenants is in force; its zero value: none, of a gateway without one.
	Tenants Tenants `json:"tenants"`
}

// Tenants tells of a gateway's file of tenants.
type Tenants struct {
	// Digest is that of the content in force.
	Digest string `json:"digest"`
	// Problem is why the file as it is now is not in force.
	Problem string `json:"problem"`
}

// Stopped is a condition that needs a person. Code is its heading in the runbook.
type Stopped struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Table is one table of the replica.
type Table struct {
	Table   string   `json:"table"`
	Phase   string   `json:"phase"`
	Stopped *Stopped `json:"stopped"`
	// Omitted are the columns that are not replicated.
	Omitted []OmittedColumn `json:"omitted"`
}

// OmittedColumn is a column that is not replicated. Detail completes "column … ".
type OmittedColumn struct {
	Column string `json:"column"`
	Detail string `json:"detail"`
}

// PhaseCopying is the phase of a table that is not in the snapshot yet.
const PhaseCopying = "copying"

// Staleness of the snapshot.
func (s Status) Staleness() time.Duration {
	return time.Duration(s.StalenessMS * float64(time.Millisecond))
}

// Limits of one question: longest wait and largest answer.
const (
	limit     = 3 * time.Second
	limitSize = 4 << 20
)

// Client asks gateways.
type Client struct {
	http http.Client
	port int
}

// NewClient returns a client for gateways whose monitoring port is the given one.
func NewClient(port int) *Client {
	// Each question is on a connection of its own: pods come and go, and questions are seconds apart.
	return &Client{http: http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}, port: port}
}

// Status asks the gateway at a pod's address.
func (c *Client) Status(ctx context.Context, ip string) (Status, error) {
	var s Status
	url := "http://" + net.JoinHostPort(ip, strconv.Itoa(c.port)) + "/status"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return s, fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return s, fmt.Errorf("ask %s: %w", url, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return s, fmt.Errorf("ask %s: it answers %s", url, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, limitSize)).Decode(&s); err != nil {
		return s, fmt.Errorf("read the answer of %s: %w", url, err)
	}
	return s, nil
}
