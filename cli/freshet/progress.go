package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/freshet-io/freshet/local/toolchain"
)

// progress tells people what goes on: one line that changes on a terminal, else a line now and then.
type progress struct {
	out      io.Writer
	terminal bool

	mu   sync.Mutex
	last string
	at   time.Time
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, terminal: isTerminal(out)}
}

// isTerminal reports whether what is written to w is shown to a person at once.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// quiet is the time between two lines about the same thing where there is no terminal.
const quiet = 5 * time.Second

// fetch tells about a tool that is fetched.
func (p *progress) fetch(f toolchain.Progress) {
	switch {
	case f.Stage == toolchain.Ready:
		p.step(f.Tool + " is fetched")
	case f.Total > 0 && f.Stage == toolchain.Fetching:
		p.change(f.Tool, fmt.Sprintf("fetching %s: %d of %d MB", f.Tool, f.Done/1_000_000, f.Total/1_000_000))
	default:
		p.change(f.Tool, fmt.Sprintf("%s: %s", f.Tool, f.Stage))
	}
}

// step tells that something begins or is done.
func (p *progress) step(what string) { p.change(what, what) }

// change tells how something stands that was told before under the same topic.
func (p *progress) change(topic, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		p.last = text
		return
	}
	if topic == p.last && time.Since(p.at) < quiet {
		return
	}
	p.last, p.at = topic, time.Now()
	fmt.Fprintln(p.out, text)
}

// end clears the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && p.last != "" {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.last = ""
	}
}
