package process

import (
	"bytes"
	"os"
)

// LogTail returns the last part of a log file, for error messages.
func LogTail(path string) string {
	const most = 2000 // bytes
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
