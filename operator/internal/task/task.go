package task

import (
	"context"
	"fmt"
	"time"
)

// Task is one step towards what the spec says. It must do nothing where that is so already.
type Task[S any] struct {
	// Name is a verb and an object, for errors: "issue certificate".
	Name string
	Run  func(ctx context.Context, s S) (Result, error)
}

// Result says whether the next task may run. The zero value is [Done].
type Result struct{ wait time.Duration }

// Done lets the next task run.
var Done = Result{}

// Wait ends the list here. It is run again when something that is watched changes, and after d at the latest.
func Wait(d time.Duration) Result { return Result{wait: d} }

// Run runs tasks in order, until one waits or fails. It returns after what time they are to be run again; zero: all are done.
func Run[S any](ctx context.Context, tasks []Task[S], s S) (again time.Duration, err error) {
	for _, t := range tasks {
		r, err := t.Run(ctx, s)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", t.Name, err)
		}
		if r.wait > 0 {
			return r.wait, nil
		}
	}
	return 0, nil
}
