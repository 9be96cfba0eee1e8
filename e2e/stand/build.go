package stand

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/local/toolchain"
)

const (
	freshetPackage = "github.com/freshet-io/freshet/cli/freshet"
	enginePackage  = freshetPackage + "-engine"
)

// BuildEngine builds freshet-engine from the module around the working directory into the cache, unless
// it is there already, and returns its path. It is keyed by its sources and dependencies, so it is never stale.
func BuildEngine(ctx context.Context, cache *toolchain.Cache) (string, error) {
	key, err := engineKey(ctx)
	if err != nil {
		return "", fmt.Errorf("build freshet-engine: %w", err)
	}
	path := filepath.Join(cache.Dir, "freshet-engine-"+key)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(cache.Dir, 0o755); err != nil {
		return "", fmt.Errorf("build freshet-engine: %w", err)
	}
	staging, err := os.CreateTemp(cache.Dir, "freshet-engine-*.staging")
	if err != nil {
		return "", fmt.Errorf("build freshet-engine: %w", err)
	}
	staging.Close()
	defer os.Remove(staging.Name())
	if _, err := goTool(ctx, "build", "-trimpath", "-o", staging.Name(), enginePackage); err != nil {
		return "", fmt.Errorf("build freshet-engine: %w", err)
	}
	if err := errors.Join(os.Chmod(staging.Name(), 0o755), os.Rename(staging.Name(), path)); err != nil {
		return "", fmt.Errorf("build freshet-engine: %w", err)
	}
	return path, nil
}

// BuildFreshet builds freshet from the module around the working directory and returns its path.
func BuildFreshet(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "freshet")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, freshetPackage).CombinedOutput(); err != nil {
		t.Fatalf("build freshet: %v\n%s", err, out)
	}
	return path
}

// engineKey hashes the compiler's version, the sources and the versions of the modules that the program is built from.
func engineKey(ctx context.Context) (string, error) {
	version, err := goTool(ctx, "version")
	if err != nil {
		return "", err
	}
	list, err := goTool(ctx, "list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}file {{$d}}/{{.}}{{"\n"}}{{end}}{{else}}{{.Module}}{{"\n"}}{{end}}{{end}}`, enginePackage)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, version)
	lines := strings.Fields(strings.ReplaceAll(list, "file ", "file:"))
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		path, isFile := strings.CutPrefix(line, "file:")
		if !isFile {
			fmt.Fprintln(h, line)
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(path), len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
