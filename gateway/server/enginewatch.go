package server

import (
	"context"
	"time"
)

const (
	// enginePeriod is how often the engine is asked whether it is there, and engineLimit how long that may go unanswered: a busy engine
	// answers late, one that hangs never.
	enginePeriod = time.Second
	engineLimit  = 5 * time.Second
)

// watchEngine asks the engine again and again until ctx ends. While nothing changes in the database, an engine that hangs shows nowhere
// else but in queries that get no answer.
func (u *unit) watchEngine(ctx context.Context, ping func(context.Context) error) error {
	tick := time.NewTicker(enginePeriod)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, engineLimit)
		if ping(limited) == nil {
			u.answered.Store(u.cfg.Clock().UnixNano())
		}
		cancel()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// engineSilence returns how long the engine has not answered.
func (u *unit) engineSilence() time.Duration {
	return u.cfg.Clock().Sub(time.Unix(0, u.answered.Load()))
}
