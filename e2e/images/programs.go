package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/freshet-io/freshet"

// purePackages are the programs that need no C compiler.
var purePackages = []string{
	"cli/freshet-operator", "cli/freshet-engine",
	"e2e/images/cmd/clickhouse-server", "e2e/images/cmd/postgres-entrypoint", "e2e/images/cmd/pause",
}

// How freshet is linked with a C compiler, as in the Dockerfile: PostgreSQL's parser as native code is faster than as WebAssembly.
const (
	staticTags    = "-tags=netgo,osusergo"
	staticLdflags = "-ldflags=-s -w -linkmode=external -extldflags=-static"
)

// testProgram is the name of the tests on pods.
const testProgram = "e2e.test"

// moduleRoot returns the folder of the module around the working directory.
func moduleRoot(ctx context.Context) (string, error) {
	root, err := goTool(ctx, nil, "list", "-m", "-f", "{{.Dir}}", module)
	return strings.TrimSpace(root), err
}

// buildPrograms compiles the programs of a module, the tests on pods too if they are asked for, and returns their folder. Go itself knows what
// has changed.
func buildPrograms(ctx context.Context, cache, root string, tests bool) (string, error) {
	// Programs of several working copies must not take turns at the same place.
	key := sha256.Sum256([]byte(root))
	dir := filepath.Join(cache, "programs-"+hex.EncodeToString(key[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	pure := []string{"CGO_ENABLED=0"}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + "/"}
	for _, p := range purePackages {
		args = append(args, module+"/"+p)
	}
	if _, err := goTool(ctx, pure, args...); err != nil {
		return "", fmt.Errorf("compile programs of images: %w", err)
	}
	if tests {
		if _, err := goTool(ctx, pure, "test", "-c", "-tags=e2e", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, testProgram), module+"/e2e/pods"); err != nil {
			return "", fmt.Errorf("compile the tests on pods: %w", err)
		}
	}
	environment, ldflags := pure, "-ldflags=-s -w"
	if linksStatically(ctx) {
		environment, ldflags = []string{"CGO_ENABLED=1"}, staticLdflags
	}
	if _, err := goTool(ctx, environment, "build", "-trimpath", "-buildvcs=false", staticTags, ldflags, "-o", dir+"/",
		module+"/cli/freshet"); err != nil {
		return "", fmt.Errorf("compile freshet for an image: %w", err)
	}
	return dir, nil
}

// linksStatically reports whether there is a C compiler that makes programs which need no libraries.
func linksStatically(ctx context.Context) bool {
	cc, err := goTool(ctx, nil, "env", "CC")
	if err != nil {
		return false
	}
	command := strings.Fields(cc)
	if len(command) == 0 {
		return false
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], "-static", "-x", "c", "-", "-o", os.DevNull, "-lm", "-lpthread")...)
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }\n")
	return cmd.Run() == nil
}

// goTool runs a command of Go with additions to the environment and returns its output.
func goTool(ctx context.Context, environment []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), environment...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
