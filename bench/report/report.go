package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is a benchmark's outcome.
type Report struct {
	// Name is the benchmark's, as in "freshet bench NAME"; Title says what it measures.
	Name, Title string
	Measured    time.Time
	Settings    []Setting
	Targets     []Target
	Tables      []Table
	Charts      []Chart
	// Data is the results for the JSON form.
	Data any
}

// Setting is one thing that the figures depend on.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Target compares a figure with what the product promises.
type Target struct {
	Name     string `json:"name"`
	Measured string `json:"measured"`
	Target   string `json:"target"`
	Met      bool   `json:"met"`
}

// Table is a table of text; as HTML its first column is aligned left, the others right.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
}

// AddSetting appends a setting; the value is formatted as by fmt.Sprint.
func (r *Report) AddSetting(name string, value any) {
	r.Settings = append(r.Settings, Setting{name, fmt.Sprint(value)})
}

// AtMost appends a target that is met by figures up to limit, and not by NaN, which says that nothing was measured. The format is for both.
func (r *Report) AtMost(name string, measured, limit float64, format string) {
	r.Targets = append(r.Targets, Target{name, figure(format, measured), "≤ " + fmt.Sprintf(format, limit), measured <= limit})
}

// AtLeast is AtMost for figures from limit on.
func (r *Report) AtLeast(name string, measured, limit float64, format string) {
	r.Targets = append(r.Targets, Target{name, figure(format, measured), "≥ " + fmt.Sprintf(format, limit), measured >= limit})
}

func figure(format string, measured float64) string {
	if math.IsNaN(measured) {
		return "nothing"
	}
	return fmt.Sprintf(format, measured)
}

// Missed tells the targets that were missed; nil: none was.
func (r *Report) Missed() error {
	var missed []string
	for _, t := range r.Targets {
		if !t.Met {
			missed = append(missed, fmt.Sprintf("%s: %s, target %s", t.Name, t.Measured, t.Target))
		}
	}
	if missed == nil {
		return nil
	}
	return fmt.Errorf("%d of %d targets were missed: %s", len(missed), len(r.Targets), strings.Join(missed, "; "))
}

// Text writes the report as text.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Title)
	for _, s := range r.Settings {
		fmt.Fprintf(&b, "  %s: %s\n", s.Name, s.Value)
	}
	tables := r.Tables
	if len(r.Targets) > 0 {
		tables = append([]Table{r.targetTable()}, tables...)
	}
	for _, t := range tables {
		fmt.Fprintf(&b, "\n%s\n", t.Title)
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(tw, "  %s\n", strings.Join(t.Columns, "\t"))
		for _, row := range t.Rows {
			fmt.Fprintf(tw, "  %s\n", strings.Join(row, "\t"))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) targetTable() Table {
	t := Table{Title: "Targets", Columns: []string{"figure", "measured", "target", "met"}}
	for _, target := range r.Targets {
		met := "no"
		if target.Met {
			met = "yes"
		}
		t.Rows = append(t.Rows, []string{target.Name, target.Measured, target.Target, met})
	}
	return t
}

// JSON writes the report as a JSON object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Benchmark string    `json:"benchmark"`
		Measured  time.Time `json:"measured"`
		Settings  []Setting `json:"settings"`
		Targets   []Target  `json:"targets"`
		Results   any       `json:"results"`
	}{r.Name, r.Measured, r.Settings, r.Targets, r.Data})
}
