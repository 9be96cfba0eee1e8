package task

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Task is one step towards what the spec says. It must do nothing where that is so already.
type Task[S any] struct {
	// Name is a verb and an object, for errors: "issue certificate".
	Name string
	Run  func(ctx context.Context, s S) (Result, error)
	// Always lets it run although a task before it waits or fails: it may then rely on nothing above it.
	Always bool
}

// Result says whether the next task may run. The zero value is [Done].
type Result struct{ wait time.Duration }

// Done lets the next task run.
var Done = Result{}

// Wait ends the list here. It is run again when something that is watched changes, and after d at the latest.
func Wait(d time.Duration) Result { return Result{wait: d} }

// Run runs tasks in order, until one waits or fails, and after that those that always run. It returns after what time they are to be run again;
// zero: all are done.
func Run[S any](ctx context.Context, tasks []Task[S], s S) (again time.Duration, err error) {
	for _, t := range tasks {
		if stopped := again > 0 || err != nil; stopped && !t.Always {
			continue
		}
		r, failure := t.Run(ctx, s)
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", t.Name, failure))
		}
		if again == 0 {
			again = r.wait
		}
	}
	if err != nil {
		return 0, err
	}
	return again, nil
}
