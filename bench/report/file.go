package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// File is a file for results. It is opened before anything is measured, so that a wrong path is told then, and what is in it stays until there
// are results to take its place. The zero value is none.
type File struct {
	file *os.File
	// made says that there was no such file.
	made bool
}

// OpenFile opens the file at a path for what an error calls it; an empty path is none.
func OpenFile(path, what string) (File, error) {
	if path == "" {
		return File{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	}
	if err != nil {
		return File{}, fmt.Errorf("open file for %s: %w", what, err)
	}
	return File{f, made}, nil
}

// Write replaces what is in the file by what form writes, and closes it.
func (f *File) Write(form func(io.Writer) error) error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe has no end to cut off
		err = file.Truncate(0)
	}
	if err == nil {
		err = form(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write results to %s: %w", file.Name(), err)
	}
	return nil
}

// Discard closes a file that no results came for, and removes it unless it was there before.
func (f *File) Discard() {
	if f.file == nil {
		return
	}
	f.file.Close()
	if f.made {
		os.Remove(f.file.Name())
	}
	f.file = nil
}

// Files are where a report goes besides the terminal.
type Files struct {
	json, html File
}

// OpenFiles opens the files for the report's forms; an empty path is none.
func OpenFiles(jsonPath, htmlPath string) (_ *Files, err error) {
	var f Files
	if f.json, err = OpenFile(jsonPath, "the results"); err != nil {
		return nil, err
	}
	if f.html, err = OpenFile(htmlPath, "the report"); err != nil {
		f.json.Discard()
		return nil, err
	}
	return &f, nil
}

// Discard closes the files that no results came for, and removes those that were not there before.
func (f *Files) Discard() {
	f.json.Discard()
	f.html.Discard()
}

// Write writes the report as text, and to its files.
func (f *Files) Write(r *Report, text io.Writer) error {
	return errors.Join(r.Text(text), f.json.Write(r.JSON), f.html.Write(r.HTML))
}

// Conclude is Write for a benchmark that fails where a target was missed, as one does whose targets are about consistency.
func (f *Files) Conclude(r *Report, text io.Writer) error {
	return errors.Join(f.Write(r, text), r.Missed())
}
