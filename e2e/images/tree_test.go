package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestTree_archivesFoldersBeforeWhatIsInThem(t *testing.T) {
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("content"), 0o700); err != nil {
		t.Fatal(err)
	}
	content := tree{}
	content.program("usr/bin/program", source)
	content.folder("usr", 0o750, 7)
	content.folder("tmp", fs.ModeSticky|0o777, 0)
	content.text("usr-local", "text")
	content["usr/bin/other"] = entry{Mode: fs.ModeSymlink | 0o777, Link: "program"}
	want := []string{
		"tmp/ 1777 0 ", "usr/ 750 7 ", "usr/bin/ 755 0 ", "usr/bin/other 777 0 program", "usr/bin/program 755 0 content", "usr-local 644 0 text",
	}
	var first, second bytes.Buffer
	if err := errors.Join(content.archive(&first), content.archive(&second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same tree gave two archives")
	}
	var got []string
	for files := tar.NewReader(&first); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o %d %s%s", h.Name, h.Mode, h.Uid, h.Linkname, text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

func TestContentDigest_changesWithAllThatIsInTheImage(t *testing.T) {
	source := filepath.Join(t.TempDir(), "program")
	of := func(content string, change func(tree, *v1.Config)) string {
		t.Helper()
		if err := os.WriteFile(source, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
		var config v1.Config
		layer := tree{"program": {Mode: 0o755, Source: source}, "pinned": {Mode: 0o755, Source: source, Stamp: "1.0"}}
		change(layer, &config)
		digest, err := contentDigest([]tree{layer}, config, false)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	same := of("content", func(tree, *v1.Config) {})
	seen := map[string]string{same: "nothing"}
	for what, digest := range map[string]string{
		"content": of("changed", func(tree, *v1.Config) {}),
		"config":  of("content", func(_ tree, c *v1.Config) { c.User = "1" }),
		"mode":    of("content", func(l tree, _ *v1.Config) { l["program"] = entry{Mode: 0o700, Source: source} }),
		"owner":   of("content", func(l tree, _ *v1.Config) { l["program"] = entry{Mode: 0o755, Source: source, Owner: 1} }),
		"stamp":   of("content", func(l tree, _ *v1.Config) { l["pinned"] = entry{Mode: 0o755, Source: source, Stamp: "1.1"} }),
		"name":    of("content", func(l tree, _ *v1.Config) { l["other"] = l["program"]; delete(l, "program") }),
	} {
		if other, known := seen[digest]; known {
			t.Errorf("an image with another %s has the digest of one with another %s", what, other)
		}
		seen[digest] = what
	}
	if again := of("content", func(tree, *v1.Config) {}); again != same {
		t.Errorf("the same image has digests %s and %s", same, again)
	}
}

func TestBuilder_forgetsWhatWasUsedTheLongestTimeAgo(t *testing.T) {
	b := builder{dir: t.TempDir(), progress: func(string) {}}
	now := time.Now()
	for i, name := range []string{"postgres-0a", "postgres-0b", "postgres-0c", "postgres-0d", "pause-0a"} {
		path := filepath.Join(b.dir, name+".tar")
		used := now.Add(-time.Duration(i) * time.Hour)
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Chtimes(path, used, used)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.forget("postgres"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(b.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, filepath.Base(f))
	}
	if diff := cmp.Diff([]string{"pause-0a.tar", "postgres-0a.tar", "postgres-0b.tar", "postgres-0c.tar"}, got); diff != "" {
		t.Errorf("archives left (-want +got):\n%s", diff)
	}
}
