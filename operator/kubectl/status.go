package kubectl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// Cluster is what status tells of an HTAPCluster, as JSON or YAML.
type Cluster struct {
	Namespace        string             `json:"namespace"`
	Name             string             `json:"name"`
	Ready            bool               `json:"ready"`
	Endpoint         string             `json:"endpoint,omitempty"`
	ConnectionSecret string             `json:"connectionSecret,omitempty"`
	Conditions       []metav1.Condition `json:"conditions"`
	Units            []Unit             `json:"units"`
}

// Unit is what status tells of a unit.
type Unit struct {
	Name    string             `json:"name"`
	Phase   v1alpha1.UnitPhase `json:"phase"`
	Message string             `json:"message,omitempty"`
	// StalenessMS and Position are the snapshot's, absent without one; Tables is how many tables it has, and Selected of how many. They are
	// the gateway's own words.
	StalenessMS *float64 `json:"stalenessMs,omitempty"`
	Position    string   `json:"position,omitempty"`
	Tables      int      `json:"tables"`
	Selected    int      `json:"selectedTables"`
	// RetainedBytes of its log the database keeps for the unit; SafeBytes may still be written before the slot is lost. Absent: unknown, and
	// without a limit.
	RetainedBytes *int64 `json:"retainedBytes,omitempty"`
	SafeBytes     *int64 `json:"safeBytes,omitempty"`
	// Unknown is why the gateway could not be asked.
	Unknown string `json:"unknown,omitempty"`
}

func (p *plugin) statusCommand() *cobra.Command {
	var format string
	var everywhere bool
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Conditions and units of an HTAPCluster, or of all",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "json", "yaml"}, format) {
				return fmt.Errorf("output format %q is not known; use json or yaml", format)
			}
			if everywhere && len(args) > 0 {
				return fmt.Errorf("HTAPCluster %q in all namespaces: give its name, or --all-namespaces; its namespace by --namespace", args[0])
			}
			a, err := p.open()
			if err != nil {
				return err
			}
			found, err := status(cmd.Context(), a, args, everywhere)
			if err != nil {
				return err
			}
			if format != "" {
				return encode(p.out, format, found)
			}
			return printStatus(p.out, painter{on: p.terminal()}, found, time.Now())
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "of every namespace")
	return cmd
}

// status reads clusters and asks their units.
func status(ctx context.Context, a *access, names []string, everywhere bool) ([]Cluster, error) {
	objects, err := a.find(ctx, names, everywhere)
	if err != nil {
		return nil, err
	}
	m := newMonitors(a)
	defer m.close()
	var found []Cluster
	for i := range objects {
		c, err := describe(ctx, m, &objects[i])
		if err != nil {
			return nil, err
		}
		found = append(found, *c)
	}
	return found, nil
}

// describe puts together what the operator wrote down and what the units say now.
func describe(ctx context.Context, m *monitors, o *v1alpha1.HTAPCluster) (*Cluster, error) {
	answers, err := m.ask(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Namespace: o.Namespace, Name: o.Name, Endpoint: o.Status.Endpoint, ConnectionSecret: o.Status.ConnectionSecret,
		Conditions: o.Status.Conditions, Units: []Unit{},
	}
	for _, condition := range c.Conditions {
		c.Ready = c.Ready || condition.Type == v1alpha1.ConditionReady && condition.Status == metav1.ConditionTrue
	}
	for _, u := range o.Status.Units {
		answer, asked := answers[u.Name]
		c.Units = append(c.Units, describeUnit(u, answer, asked))
	}
	return c, nil
}

func describeUnit(u v1alpha1.UnitStatus, l live, asked bool) Unit {
	d := Unit{Name: u.Name, Phase: u.Phase, Message: u.Message}
	switch {
	case !asked:
		d.Unknown = "it has no pod"
		return d
	case l.err != nil:
		d.Unknown = l.err.Error()
		return d
	}
	if l.Position != "" {
		d.StalenessMS, d.Position = &l.StalenessMS, l.Position
	}
	d.Selected = len(l.Tables)
	for _, t := range l.Tables {
		if t.Phase == "ready" {
			d.Tables++
		} else if s := t.Stopped; s != nil {
			d.Message = cmp.Or(d.Message, fmt.Sprintf("table %s: %s: %s; %s", t.Table, s.Code, s.Detail, s.Remedy))
		}
	}
	d.RetainedBytes, d.SafeBytes = known(l.retained), known(l.safe)
	return d
}

// known is nil for what is not.
func known(bytes float64) *int64 {
	if bytes < 0 {
		return nil
	}
	n := int64(bytes)
	return &n
}

func encode(w io.Writer, format string, clusters []Cluster) error {
	text, err := json.MarshalIndent(clusters, "", "  ")
	if err == nil && format == "yaml" {
		text, err = yaml.JSONToYAML(text)
	} else {
		text = append(text, '\n')
	}
	if err != nil {
		return fmt.Errorf("encode as %s: %w", format, err)
	}
	_, err = w.Write(text)
	return err
}

func printStatus(w io.Writer, paint painter, clusters []Cluster, now time.Time) error {
	for i, c := range clusters {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s in namespace %s: %s\n", c.Name, c.Namespace, c.headline(paint))
		if c.Endpoint != "" {
			fmt.Fprintf(w, "endpoint %s, credentials in Secret %s\n", c.Endpoint, c.ConnectionSecret)
		}
		conditions := newTable(paint, "CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE")
		for _, x := range c.Conditions {
			conditions.add(toneOf(x.Status == metav1.ConditionTrue, x.Status == metav1.ConditionUnknown), x.Type, string(x.Status), x.Reason,
				duration.HumanDuration(now.Sub(x.LastTransitionTime.Time)), x.Message)
		}
		units := newTable(paint, "UNIT", "PHASE", "STALENESS", "TABLES", "POSITION", "MESSAGE")
		for _, u := range c.Units {
			tables := "-"
			if u.Unknown == "" {
				tables = fmt.Sprintf("%d/%d", u.Tables, u.Selected)
			}
			units.add(u.tone(), u.Name, string(u.Phase), u.staleness(), tables, cmp.Or(u.Position, "-"), cmp.Or(u.Message, u.Unknown))
		}
		for _, t := range []*table{conditions, units} {
			if err := t.write(w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Cluster) headline(paint painter) string {
	switch {
	case len(c.Conditions) == 0:
		return paint.say(doubtful, "the operator has not looked at it; see that one runs: kubectl get pods -A -l app.kubernetes.io/name=freshet-operator")
	case c.Ready:
		return paint.say(good, "ready")
	}
	return paint.say(bad, "not ready")
}

func (u Unit) staleness() string {
	if u.StalenessMS == nil {
		return "-"
	}
	return time.Duration(*u.StalenessMS * float64(time.Millisecond)).Round(time.Millisecond).String()
}

func (u Unit) tone() tone {
	waits := u.Phase == v1alpha1.UnitPending || u.Phase == v1alpha1.UnitStarting || u.Phase == v1alpha1.UnitCopying
	return toneOf(u.Phase == v1alpha1.UnitFresh && u.Unknown == "", waits || u.Phase == v1alpha1.UnitFresh)
}
