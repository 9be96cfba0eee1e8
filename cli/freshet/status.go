package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/freshet-io/freshet/local/platform"
)

// printStatus prints a platform's state for people.
func printStatus(w io.Writer, r platform.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "platform\t%s\t%s\n", r.Phase, r.Dir)
	if r.URL != "" {
		fmt.Fprintf(t, "endpoint\t%s\n", r.URL)
		fmt.Fprintf(t, "metrics\thttp://%s/metrics\n", r.Monitor)
	}
	switch rep := r.Replica; {
	case rep != nil:
		fmt.Fprintf(t, "snapshot\t%s\n", snapshot(rep))
		if p := rep.Pipeline; p != nil {
			fmt.Fprintf(t, "stream\t%s\n", stream(p))
		}
	case r.Phase == platform.Running:
		fmt.Fprint(t, "snapshot\tnot known: the gateway does not answer\n")
	}
	if len(r.Components) > 0 && r.Phase != platform.Stopped {
		fmt.Fprint(t, "\nSERVER\tSTATE\tPID\tADDRESS\tUP FOR\tRESTARTS\tLOG\n")
		for _, c := range r.Components {
			state := "up"
			if !c.Up {
				state = "down"
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%v\t%d\t%s\n", c.Name, state, c.Process.PID, c.Address,
				time.Since(c.Since).Round(time.Second), c.Restarts, c.LogFile)
		}
	}
	if rep := r.Replica; rep != nil && len(rep.Tables) > 0 {
		fmt.Fprint(t, "\nTABLE\tSTATE\tROWS\tCOLUMNS LEFT OUT\n")
		for _, table := range rep.Tables {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", table.Table, table.Phase, table.Rows, leftOut(table))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range r.Components {
		if !c.Up && c.Problem != "" && r.Phase != platform.Stopped {
			fmt.Fprintf(w, "\n%s: %s\n", c.Name, c.Problem)
		}
	}
	if rep := r.Replica; rep != nil {
		printConditions(w, rep)
	}
	return nil
}

// printConditions prints what waits for a person.
func printConditions(w io.Writer, r *platform.Replica) {
	if r.Problem != "" {
		fmt.Fprintf(w, "\nreplica: %s\n", r.Problem)
	}
	if p := r.Pipeline; p != nil && p.Unknown != "" {
		fmt.Fprintf(w, "\nstream: %s\n", p.Unknown)
	}
	if c := r.Stopped; c != nil {
		fmt.Fprintf(w, "\nreplication stopped: %s: %s; %s\n", c.Code, c.Detail, c.Remedy)
	}
	for _, table := range r.Tables {
		if c := table.Stopped; c != nil {
			fmt.Fprintf(w, "\ntable %s stopped: %s: %s; %s\n", table.Table, c.Code, c.Detail, c.Remedy)
		}
	}
}

// leftOut names the columns that are not on the replica.
func leftOut(t platform.ReplicaTable) string {
	columns := make([]string, len(t.Omitted))
	for i, c := range t.Omitted {
		columns[i] = fmt.Sprintf("%s (%s)", c.Column, c.Detail)
	}
	return strings.Join(columns, ", ")
}

// stream tells how far Kafka and Debezium are.
func stream(p *platform.Pipeline) string {
	state := func(s string) string {
		if s == "" {
			return "unknown"
		}
		return strings.ToLower(s)
	}
	return fmt.Sprintf("%s: connector %s, task %s; behind by %d messages in the topics and %d kB of log; PostgreSQL keeps %d kB for it",
		p.Transport, state(p.Connector), state(p.Task), p.LagRecords, p.LagBytes>>10, p.SlotBytes>>10)
}

func snapshot(r *platform.Replica) string {
	if r.StalenessMS < 0 {
		return "none yet"
	}
	return fmt.Sprintf("%s, %.0f ms old", r.Position, r.StalenessMS)
}
