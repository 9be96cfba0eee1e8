package pods

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// RunnerLabel is "true" for the pod in which the tests themselves run, which must not move with those that they drain from a node.
const RunnerLabel = "freshet.io/e2e-runner"

// PodSecurityLabel says what the pods of a namespace may do.
const PodSecurityLabel = "pod-security.kubernetes.io/enforce"

// Command runs a program. Its output is part of the error.
func Command(ctx context.Context, name string, args ...string) error {
	if text, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, text)
	}
	return nil
}
