package operator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Requests are requests to the API server, by verb and resource: "get secrets", "patch htapclusters/status".
type Requests map[string]int

// writing are the verbs that change something.
var writing = map[string]bool{"create": true, "update": true, "patch": true, "delete": true, "deletecollection": true}

// election marks what leader election asks, whatever the clusters do: leases, and an event of each new leader.
const election = " (leader election)"

// Writes counts the requests that change something, without those of leader election.
func (r Requests) Writes() int {
	n := 0
	for what, count := range r {
		if verb, _, _ := strings.Cut(what, " "); writing[verb] && !strings.HasSuffix(what, election) {
			n += count
		}
	}
	return n
}

// All counts all requests.
func (r Requests) All() int {
	n := 0
	for _, count := range r {
		n += count
	}
	return n
}

// audit reads an API server's audit log as it grows.
type audit struct {
	path   string
	offset int64
}

// take counts the requests that were answered since the last call; a watch counts when it begins.
func (a *audit) take() (Requests, error) {
	f, err := os.Open(a.path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(a.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	requests := Requests{}
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, nil // the rest of a line is there the next time
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		a.offset += int64(len(line))
		if err := requests.add(line); err != nil {
			return nil, err
		}
	}
}

func (r Requests) add(line []byte) error {
	var event struct {
		Stage     string
		Verb      string
		ObjectRef struct{ Namespace, Resource, Subresource string }
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	stage := "ResponseComplete"
	if event.Verb == "watch" {
		stage = "ResponseStarted"
	}
	if event.Stage != stage {
		return nil
	}
	resource := event.ObjectRef.Resource
	if resource == "" {
		resource = "(discovery)"
	}
	if sub := event.ObjectRef.Subresource; sub != "" {
		resource += "/" + sub
	}
	if event.ObjectRef.Namespace == release { // where the operator itself is
		resource += election
	}
	r[event.Verb+" "+resource]++
	return nil
}
