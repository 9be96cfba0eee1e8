package report

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile_keepsWhatThereIsUntilThereAreResults(t *testing.T) {
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
	open := func(path string) *File {
		t.Helper()
		o, err := OpenFile(path, "the results")
		if err != nil {
			t.Fatal(err)
		}
		return &o
	}

	for _, path := range []string{before, fresh} {
		open(path).Discard()
	}
	is(before, "results of a longer run")
	is(fresh, "")

	for _, path := range []string{before, fresh, os.DevNull, ""} {
		o := open(path)
		if err := o.Write(results); err != nil {
			t.Error(err)
		}
		o.Discard() // does nothing any more
	}
	is(before, "results")
	is(fresh, "results")
}

func TestFiles_holdTheResultsAlsoWhereATargetWasMissed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	r := &Report{}
	r.AtMost("violations", 0, 0, "%.0f")
	for _, missed := range []bool{false, true} {
		files, err := OpenFiles(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if missed {
			r.AtMost("answers different", 2, 0, "%.0f")
		}
		var text strings.Builder
		err = files.Conclude(r, &text)
		if (err != nil) != missed || missed && !strings.Contains(err.Error(), "1 of 2 targets were missed: answers different: 2, target ≤ 0") {
			t.Errorf("missed: %v, told %v", missed, err)
		}
		written, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		for form, holds := range map[string]string{"text": text.String(), "JSON": string(written)} {
			if !strings.Contains(holds, "violations") || strings.Contains(holds, "answers different") != missed {
				t.Errorf("missed: %v, the %s is\n%s", missed, form, holds)
			}
		}
	}
}
