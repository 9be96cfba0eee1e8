package toolchain

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tool is what a package registry serves, pinned by version and integrity.
type tool struct {
	title   string
	name    string // first part of its folder's name
	version string
	size    int64 // unpacked bytes, for progress only
	// install fetches it below dir and returns the folder where it lies there.
	install func(c *Cache, ctx context.Context, t tool, dir string) (string, error)
	// finish completes and checks what install brought.
	finish    func(dir string) error
	subfolder string // of what install brought, that becomes the tool's folder

	pkg       string // npm's name
	integrity string // npm's subresource integrity of the package file
}

func (t tool) folder() string { return t.name + "-" + t.version }

// runTool runs a program in a folder and returns what it said. Its error tells the end of that.
func runTool(ctx context.Context, dir, name string, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return said.String(), fmt.Errorf("interrupted: %w", ctx.Err())
	case err != nil:
		return said.String(), fmt.Errorf("%w: %s", err, tail(said.String()))
	}
	return said.String(), nil
}

// tail returns the last lines of a command's output, which say why it failed.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// unzip unpacks an archive of programs and what they need.
func unzip(archive, dir string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, f := range r.File {
		if f.FileInfo().IsDir() {
			continue
		}
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("%q is outside of the archive", f.Name)
		}
		if err := extract(f, filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

func extract(f *zip.File, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
