package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func (p *plugin) lagCommand() *cobra.Command {
	var watch bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "lag [NAME]",
		Short: "How far each unit is behind the database, and what the database keeps for it",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if interval <= 0 {
				return fmt.Errorf("--interval %v: give a positive duration", interval)
			}
			a, err := p.open()
			if err != nil {
				return err
			}
			m := newMonitors(a)
			defer m.close()
			if !watch {
				return p.lag(cmd.Context(), m, args)
			}
			return p.watchLag(cmd.Context(), m, args, interval)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "tell again and again, until interrupted")
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "time from one to the next with --watch")
	return cmd
}

func (p *plugin) watchLag(ctx context.Context, m *monitors, names []string, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if p.terminal() {
			fmt.Fprint(p.out, "\x1b[H\x1b[2J")
		}
		fmt.Fprintln(p.out, time.Now().Format(time.TimeOnly))
		err := p.lag(ctx, m, names)
		if ctx.Err() != nil {
			return nil // interrupted, which is how it ends
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (p *plugin) lag(ctx context.Context, m *monitors, names []string) error {
	clusters, err := m.access.find(ctx, names, false)
	if err != nil {
		return err
	}
	t := newTable(painter{on: p.terminal()}, "CLUSTER", "UNIT", "PHASE", "STALENESS", "POSITION", "RETAINED", "UNTIL LOST", "MESSAGE")
	for i := range clusters {
		c, err := describe(ctx, m, &clusters[i])
		if err != nil {
			return err
		}
		for _, u := range c.Units {
			t.add(u.tone(), c.Name, u.Name, string(u.Phase), u.staleness(), cmp.Or(u.Position, "-"), size(u.RetainedBytes), size(u.SafeBytes), cmp.Or(u.Message, u.Unknown))
		}
	}
	if len(t.lines) == 1 {
		t.add(doubtful, clusters[0].Name, "-", "-", "-", "-", "-", "-", "there are no units yet; kubectl freshet status says why")
	}
	return t.write(p.out)
}
