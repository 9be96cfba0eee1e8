package tempfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet-io/freshet/connectors/tempfile"
)

func TestCreate_leavesNothingInTheFolder(t *testing.T) {
	dir := t.TempDir()
	f, err := tempfile.Create(dir, "freshet-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	if _, err := f.WriteString("kept"); err != nil {
		t.Fatal(err)
	}
	read := make([]byte, 4)
	if _, err := f.ReadAt(read, 0); err != nil || string(read) != "kept" {
		t.Errorf("read %q, %v", read, err)
	}
}

func TestCreate_needsTheFolder(t *testing.T) {
	if _, err := tempfile.Create(filepath.Join(t.TempDir(), "missing"), "freshet-test-"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
}
