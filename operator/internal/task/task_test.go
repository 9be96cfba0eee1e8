package task_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/operator/internal/task"
)

func TestRun_stopsWhereATaskIsNotDone(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name    string
		results map[string]task.Result
		errs    map[string]error
		ran     []string
		again   time.Duration
		err     string
	}{
		{name: "all done", ran: []string{"a", "b", "c", "always"}},
		{name: "b waits", results: map[string]task.Result{"b": task.Wait(time.Minute)}, ran: []string{"a", "b", "always"}, again: time.Minute},
		{name: "b fails", errs: map[string]error{"b": broken}, ran: []string{"a", "b", "always"}, err: "b: broken"},
		{name: "the last waits", results: map[string]task.Result{"always": task.Wait(time.Second)}, ran: []string{"a", "b", "c", "always"}, again: time.Second},
		{
			name: "b waits, and the last less", ran: []string{"a", "b", "always"}, again: time.Minute,
			results: map[string]task.Result{"b": task.Wait(time.Minute), "always": task.Wait(time.Second)},
		},
		{name: "b fails, and the last too", errs: map[string]error{"b": broken, "always": broken}, ran: []string{"a", "b", "always"}, err: "b: broken\nalways: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tasks []task.Task[*[]string]
			for _, name := range []string{"a", "b", "c", "always"} {
				tasks = append(tasks, task.Task[*[]string]{Name: name, Always: name == "always", Run: func(_ context.Context, ran *[]string) (task.Result, error) {
					*ran = append(*ran, name)
					return c.results[name], c.errs[name]
				}})
			}
			var ran []string
			again, err := task.Run(t.Context(), tasks, &ran)
			if diff := cmp.Diff(c.ran, ran); diff != "" {
				t.Errorf("tasks that ran (-want +got):\n%s", diff)
			}
			if again != c.again || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("got %v and %v, want %v and %q", again, err, c.again, c.err)
			}
		})
	}
}
