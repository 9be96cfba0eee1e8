package process

import (
	"bytes"
	"io"
	"os"
)

// LogTail returns the last lines of a log file, for error messages.
func LogTail(path string) string {
	const enough = 2000
	return LastLines(path, enough)
}

// LastLines returns the last whole lines of a log file that fit in so many bytes. Of a file that cannot be read it returns why.
func LastLines(path string, most int) string {
	tail, cut, err := readTail(path, int64(most))
	if err != nil {
		return err.Error()
	}
	tail = bytes.TrimRight(tail, " \t\r\n")
	if cut {
		if i := bytes.IndexByte(tail, '\n'); i >= 0 {
			tail = tail[i+1:]
		}
	}
	return string(bytes.TrimSpace(tail))
}

// readTail returns the last bytes of a file, and whether others are before them. Logs are appended to, start after start.
func readTail(path string, most int64) (tail []byte, cut bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if cut = info.Size() > most; cut {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return nil, false, err
		}
	}
	tail, err = io.ReadAll(f)
	return tail, cut, err
}
