package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestOutput_keepsWhatThereIsUntilThereAreResults(t *testing.T) {
	dir := t.TempDir()
	before, fresh := filepath.Join(dir, "before"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(before, []byte("results of a longer run"), 0o600); err != nil {
		t.Fatal(err)
	}
	is := func(path, want string) {
		t.Helper()
		if b, err := os.ReadFile(path); string(b) != want || want == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s holds %q (%v), want %q", filepath.Base(path), b, err, want)
		}
	}
	results := func(w io.Writer) error { _, err := io.WriteString(w, "results"); return err }
	open := func(path string) *output {
		t.Helper()
		o, err := openOutput(path, "the results")
		if err != nil {
			t.Fatal(err)
		}
		return &o
	}

	for _, path := range []string{before, fresh} {
		open(path).discard()
	}
	is(before, "results of a longer run")
	is(fresh, "")

	for _, path := range []string{before, fresh, os.DevNull, ""} {
		o := open(path)
		if err := o.write(results); err != nil {
			t.Error(err)
		}
		o.discard() // does nothing any more
	}
	is(before, "results")
	is(fresh, "results")
}
