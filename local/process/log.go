package process

import (
	"bytes"
	"os"
)

// LogTail returns the last lines of a log file, for error messages.
func LogTail(path string) string {
	const enough = 2000
	return LastLines(path, enough)
}

// LastLines returns the last whole lines of a log file that fit in so many bytes.
func LastLines(path string, most int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	b = bytes.TrimSpace(b)
	if len(b) > most {
		b = b[len(b)-most:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return string(b)
}
