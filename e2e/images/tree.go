package images

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/freshet-io/freshet/local/toolchain"
)

// tree is the content of a layer: files, folders and links by their paths in the image, without the leading slash.
type tree map[string]entry

// entry is one of them. It belongs to root unless it says otherwise.
type entry struct {
	Mode  fs.FileMode // with the type's bits
	Owner int         `json:",omitempty"` // user and group
	Link  string      `json:",omitempty"` // target of a symbolic link
	Text  string      `json:",omitempty"` // content of a small file
	// Source is the file with the content, on this machine; Stamp stands for its content where that would take long to read.
	Source string `json:"-"`
	Stamp  string `json:",omitempty"`
}

func (t tree) text(name, content string) { t[name] = entry{Mode: 0o644, Text: content} }

func (t tree) folder(name string, mode fs.FileMode, owner int) {
	t[name] = entry{Mode: fs.ModeDir | mode, Owner: owner}
}

func (t tree) program(name, source string) { t[name] = entry{Mode: 0o755, Source: source} }

// copy adds what is below a folder of this machine, readable for all, but for files that skip reports.
func (t tree) copy(name, source string, skip func(name string) bool) error {
	return filepath.WalkDir(source, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{Mode: info.Mode().Type() | 0o644, Source: file}
		if info.Mode()&0o100 != 0 {
			e.Mode |= 0o111
		}
		switch {
		case d.IsDir():
			return nil
		case skip != nil && skip(relative):
			return nil
		case e.Mode.Type() == fs.ModeSymlink:
			if e.Link, err = os.Readlink(file); err != nil {
				return err
			}
		case !e.Mode.IsRegular():
			return fmt.Errorf("copy %s: it is neither a file nor a link", file)
		}
		t[path.Join(name, filepath.ToSlash(relative))] = e
		return nil
	})
}

// account makes a user known by name, with a group of the same name and number, and tells the C library where names are looked up.
func (t tree) account(name string, id int) {
	t.text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
	t.text("etc/passwd", fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\n%s:x:%d:%d::/:/sbin/nologin\n", name, id, id))
	t.text("etc/group", fmt.Sprintf("root:x:0:\n%s:x:%d:\n", name, id))
}

// contentDigest is a short digest of an image's content, and of whether it has two names.
func contentDigest(layers []tree, config v1.Config, twice bool) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	if err := enc.Encode(config); err != nil {
		return "", err
	}
	for _, t := range layers {
		for _, name := range slices.Sorted(maps.Keys(t)) {
			e := t[name]
			if e.Source != "" && e.Stamp == "" && e.Mode.IsRegular() {
				sum, err := toolchain.FileSum(e.Source)
				if err != nil {
					return "", err
				}
				e.Stamp = sum
			}
			if err := enc.Encode(map[string]entry{name: e}); err != nil {
				return "", err
			}
		}
		fmt.Fprintln(h, "layer")
	}
	if twice {
		fmt.Fprintln(h, "twice")
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// archive writes the tree as a tar file, with the folders that its files need, and without times: the same tree gives the same bytes.
func (t tree) archive(w io.Writer) error {
	all := maps.Clone(t)
	for name := range t {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, there := all[dir]; !there {
				all.folder(dir, 0o755, 0)
			}
		}
	}
	out := tar.NewWriter(w)
	// Sorted by path elements, so that a folder comes before what is in it.
	byElements := func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }
	for _, name := range slices.SortedFunc(maps.Keys(all), byElements) {
		if err := all[name].archive(out, name); err != nil {
			return fmt.Errorf("add %s: %w", name, err)
		}
	}
	return out.Close()
}

func (e entry) archive(out *tar.Writer, name string) error {
	h := &tar.Header{Name: name, Mode: int64(e.Mode.Perm()), Uid: e.Owner, Gid: e.Owner, Linkname: e.Link, Format: tar.FormatPAX}
	const sticky = 0o1000
	if e.Mode&fs.ModeSticky != 0 {
		h.Mode |= sticky
	}
	switch e.Mode.Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		return out.WriteHeader(h)
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		return out.WriteHeader(h)
	}
	h.Typeflag = tar.TypeReg
	if e.Source == "" {
		h.Size = int64(len(e.Text))
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.WriteString(out, e.Text)
		return err
	}
	f, err := os.Open(e.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}
