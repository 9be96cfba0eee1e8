package pgserver

import (
	"os"
	"strings"

	"github.com/freshet-io/freshet/local/process"
)

// logLimit is how much of the log is searched for the reason of the server's end.
const logLimit = 64 << 10

// logEnd is how the log ends, for error messages, and before it the server's reason to end where that is further above: what PostgreSQL tells
// after it, such as the record of the log that it was at, may be long.
func (s *Server) logEnd() string {
	tail := process.LogTail(s.cfg.LogFile)
	reason := s.reason()
	if reason == "" || strings.Contains(tail, reason) {
		return tail
	}
	return reason + "\n…\n" + tail
}

// reason is the last line of the log since the server was launched that tells of the end of one of its processes; empty if there is none.
func (s *Server) reason() string {
	info, err := os.Stat(s.cfg.LogFile)
	if err != nil {
		return "" // the tail says so
	}
	reason := ""
	since := info.Size() - s.logged + 1 // the end of the line before, which is not returned
	for line := range strings.Lines(process.LastLines(s.cfg.LogFile, int(min(since, logLimit)))) {
		fatal := strings.Contains(line, "] FATAL: ") || strings.Contains(line, "] PANIC: ")
		// A client that is told to wait is no reason.
		if fatal && !strings.Contains(line, "FATAL:  the database system is ") {
			reason = strings.TrimSpace(line)
		}
	}
	return reason
}
