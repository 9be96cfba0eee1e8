package cdc

import (
	"context"
	"log/slog"
)

// Announce hands over, between transactions, what next gives: a table that was discovered, or the ID of one that was dropped, with a
// nil Table then. It returns what the handler returns.
func Announce(ctx context.Context, h Handler, log *slog.Logger, next func() (d Discovered, dropped TableID, ok bool)) error {
	for {
		d, dropped, ok := next()
		switch {
		case !ok:
			return nil
		case d.Table == nil:
			log.Info("table dropped", "id", dropped)
			if err := h.Dropped(ctx, dropped); err != nil {
				return err
			}
		default:
			log.Info("table discovered", "table", d.Table.FullName(), "stopped", d.Stopped)
			if err := h.Discovered(ctx, d); err != nil {
				return err
			}
		}
	}
}
