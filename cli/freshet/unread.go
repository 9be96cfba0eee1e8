package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// whileRead runs work, which has something to tidy up in the end, and ends its context when what it writes to out or errOut is read by
// nobody any more, as after the program behind a pipe has ended. Without it SIGPIPE would end this program at once.
func whileRead(cmd *cobra.Command, work func(ctx context.Context, out, errOut io.Writer) error) error {
	signals := make(chan os.Signal, 1) // never received from: that it is notified lets writes fail instead
	signal.Notify(signals, syscall.SIGPIPE)
	defer signal.Stop(signals)
	ctx, end := context.WithCancelCause(cmd.Context())
	defer end(nil)
	err := work(ctx, endingWriter(cmd.OutOrStdout(), end), endingWriter(cmd.ErrOrStderr(), end))
	if cmd.Context().Err() == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// endingWriter returns w, and calls end when a write to it fails. A terminal stays what it is, for who looks for one: it does not break
// as a pipe does.
func endingWriter(w io.Writer, end context.CancelCauseFunc) io.Writer {
	if isTerminal(w) {
		return w
	}
	return writerFunc(func(p []byte) (int, error) {
		n, err := w.Write(p)
		if err != nil {
			end(fmt.Errorf("tell how it goes: %w", err))
		}
		return n, err
	})
}

// writerFunc is a function that is an [io.Writer].
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
