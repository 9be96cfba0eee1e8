package pgserver

import (
	"strings"
	"time"

	"github.com/freshet-io/freshet/local/process"
)

// placeSenders moves WAL senders, which inherit the server's CPUs, to theirs as long as the server runs.
func (s *Server) placeSenders() {
	defer close(s.placed)
	check := time.NewTicker(time.Second)
	defer check.Stop()
	for {
		if cores := *s.senderCores.Load(); len(cores) > 0 {
			for _, backend := range process.Descendants(s.PID()) {
				if strings.HasPrefix(backend.Title(), "postgres: walsender ") {
					_ = backend.Pin(cores) // fails only where it has just ended
				}
			}
		}
		select {
		case <-s.Done():
			return
		case <-check.C:
		}
	}
}
