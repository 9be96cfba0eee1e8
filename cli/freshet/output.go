package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// output is a file for results. It is opened before anything is measured, so that a wrong path is told then, and what is in it stays until there
// are results to take its place. The zero value is none.
type output struct {
	file *os.File
	// made says that there was no such file.
	made bool
}

// openOutput opens the file at a path; an empty path is none.
func openOutput(path, what string) (output, error) {
	if path == "" {
		return output{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	}
	if err != nil {
		return output{}, fmt.Errorf("open file for %s: %w", what, err)
	}
	return output{f, made}, nil
}

// write replaces what is in the file by what is written to it, and closes it.
func (o *output) write(form func(io.Writer) error) error {
	if o.file == nil {
		return nil
	}
	f := o.file
	o.file = nil
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe has no end to cut off
		err = f.Truncate(0)
	}
	if err == nil {
		err = form(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write results to %s: %w", f.Name(), err)
	}
	return nil
}

// discard closes a file that no results came for, and removes it unless it was there before.
func (o *output) discard() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.made {
		os.Remove(o.file.Name())
	}
	o.file = nil
}
