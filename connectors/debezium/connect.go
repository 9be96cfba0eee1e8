package debezium

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/freshet-io/freshet/connectors/kafka"
)

// connectClient speaks to Kafka Connect's REST interface.
type connectClient struct {
	base     string
	user     string
	password kafka.Secret
	http     http.Client
}

func (c *connectClient) close() { c.http.CloseIdleConnections() }

// ConnectorStatus is the state of the connector and of its task as Kafka Connect tells it: RUNNING, FAILED, PAUSED, UNASSIGNED …
type ConnectorStatus struct {
	Connector, Task string
	// Trace is the error of a task that FAILED.
	Trace string
}

// status asks for the state of a connector; the zero status means that it is not registered.
func (c *connectClient) status(ctx context.Context, name string) (ConnectorStatus, error) {
	var body struct {
		Connector struct{ State string }
		Tasks     []struct{ State, Trace string }
	}
	found, err := c.call(ctx, http.MethodGet, "/connectors/"+url.PathEscape(name)+"/status", nil, &body)
	if err != nil || !found {
		return ConnectorStatus{}, err
	}
	st := ConnectorStatus{Connector: body.Connector.State}
	if len(body.Tasks) > 0 {
		st.Task, st.Trace = body.Tasks[0].State, body.Tasks[0].Trace
	}
	return st, nil
}

// register creates the connector or changes its settings, unless it has them.
func (c *connectClient) register(ctx context.Context, name string, settings map[string]string) (changed bool, err error) {
	path := "/connectors/" + url.PathEscape(name) + "/config"
	var has map[string]string
	if _, err := c.call(ctx, http.MethodGet, path, nil, &has); err != nil {
		return false, err
	}
	delete(has, "name") // which Connect adds
	if maps.Equal(has, settings) {
		return false, nil
	}
	_, err = c.call(ctx, http.MethodPut, path, settings, nil)
	return err == nil, err
}

// remove deletes the connector and what Connect recorded of its progress, which otherwise would outlive it. One that is not
// there is no error.
func (c *connectClient) remove(ctx context.Context, name string) error {
	path := "/connectors/" + url.PathEscape(name)
	found, err := c.call(ctx, http.MethodGet, path, nil, nil)
	if err != nil || !found {
		return err
	}
	if err := c.forget(ctx, name, nil); err != nil {
		return err
	}
	_, err = c.call(ctx, http.MethodDelete, path, nil, nil)
	return err
}

// The states of a connector that somebody has halted: STOPPED has given its tasks up, PAUSED keeps them.
const (
	stateStopped = "STOPPED"
	statePaused  = "PAUSED"
)

// halted says that somebody has halted the connector, which therefore delivers nothing.
func (s ConnectorStatus) halted() bool {
	return s.Connector == stateStopped || s.Connector == statePaused
}

// forget stops the connector, or creates it stopped where it is not there and settings are given, and deletes what Connect
// recorded of its progress.
func (c *connectClient) forget(ctx context.Context, name string, settings map[string]string) error {
	path := "/connectors/" + url.PathEscape(name)
	for {
		st, err := c.status(ctx, name)
		switch {
		case err != nil:
		case st.Connector == stateStopped:
			_, err = c.call(ctx, http.MethodDelete, path+"/offsets", nil, nil)
			return err
		case st.Connector != "":
			_, err = c.call(ctx, http.MethodPut, path+"/stop", nil, nil)
		case settings != nil:
			err = c.createStopped(ctx, name, settings)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until connector %s is stopped: %w", name, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// awaitStopped waits until somebody has stopped the connector.
func (c *connectClient) awaitStopped(ctx context.Context, name string) error {
	for {
		st, err := c.status(ctx, name)
		if err != nil || st.Connector == stateStopped {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for connector %s to be stopped: %w", name, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// createStopped creates a connector that does not run. One that is there already, or a worker that is busy, is no error: Connect
// answers the same to both.
func (c *connectClient) createStopped(ctx context.Context, name string, settings map[string]string) error {
	body := map[string]any{"name": name, "config": settings, "initial_state": stateStopped}
	code, answer, err := c.once(ctx, http.MethodPost, "/connectors", body)
	if err == nil && code >= 300 && code != busyStatus {
		err = fmt.Errorf("status %d: %s", code, bytes.TrimSpace(answer))
	}
	if err != nil {
		return fmt.Errorf("create connector %s in Kafka Connect: %w", name, err)
	}
	return nil
}

// resume lets a connector that is stopped or paused go on.
func (c *connectClient) resume(ctx context.Context, name string) error {
	st, err := c.status(ctx, name)
	if err == nil && st.halted() {
		_, err = c.call(ctx, http.MethodPut, "/connectors/"+url.PathEscape(name)+"/resume", nil, nil)
	}
	return err
}

// restart starts the connector and its task again where they failed.
func (c *connectClient) restart(ctx context.Context, name string) error {
	_, err := c.call(ctx, http.MethodPost, "/connectors/"+url.PathEscape(name)+"/restart?includeTasks=true&onlyFailed=true", nil, nil)
	return err
}

// ErrConnectRefuses says that Kafka Connect does not know the user or the password, or does not allow what was asked.
var ErrConnectRefuses = errors.New("refuses user")

// busyStatus is what Connect answers while its group is rebalancing.
const busyStatus = http.StatusConflict

// call makes a request and decodes the answer. found is false for what is not there.
func (c *connectClient) call(ctx context.Context, method, path string, body, into any) (found bool, err error) {
	for {
		code, answer, err := c.once(ctx, method, path, body)
		switch {
		case err != nil:
			return false, fmt.Errorf("ask Kafka Connect (%s %s): %w", method, path, err)
		case code == http.StatusNotFound:
			return false, nil
		case code == busyStatus:
			select {
			case <-ctx.Done():
				return false, fmt.Errorf("ask Kafka Connect (%s %s): it is rebalancing: %w", method, path, context.Cause(ctx))
			case <-time.After(200 * time.Millisecond):
			}
			continue
		case code == http.StatusUnauthorized, code == http.StatusForbidden:
			return false, fmt.Errorf("ask Kafka Connect (%s %s): status %d: it %w %q; check user and password", method, path, code, ErrConnectRefuses, c.user)
		case code >= 300:
			return false, fmt.Errorf("ask Kafka Connect (%s %s): status %d: %s", method, path, code, bytes.TrimSpace(answer))
		}
		if into != nil {
			if err := json.Unmarshal(answer, into); err != nil {
				return false, fmt.Errorf("ask Kafka Connect (%s %s): %w", method, path, err)
			}
		}
		return true, nil
	}
}

func (c *connectClient) once(ctx context.Context, method, path string, body any) (int, []byte, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.user != "" {
		password, err := c.password.Read()
		if err != nil {
			return 0, nil, err
		}
		req.SetBasicAuth(c.user, password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}
