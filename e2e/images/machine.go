package images

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// libraries adds the shared libraries, and the loader, that programs need of this machine, at their paths here: the loader has them built in.
func (t tree) libraries(ctx context.Context, programs ...string) error {
	for _, program := range programs {
		out, err := exec.CommandContext(ctx, "ldd", program).Output()
		if err != nil {
			return fmt.Errorf("find the libraries of %s: ldd: %w", program, err)
		}
		home := filepath.Dir(filepath.Dir(program)) // what comes with the program is not the machine's
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			// "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)", "/lib64/ld-linux-x86-64.so.2 (0x…)", "linux-vdso.so.1 (0x…)"
			if strings.HasSuffix(lines.Text(), "=> not found") {
				return fmt.Errorf("find the libraries of %s: %s; install the package that has it", program, strings.TrimSpace(lines.Text()))
			}
			for _, word := range strings.Fields(lines.Text()) {
				if !filepath.IsAbs(word) || strings.HasPrefix(filepath.Clean(word), home+"/") {
					continue
				}
				if err := t.library(word); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t tree) library(path string) error {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("find library %s: %w", path, err)
	}
	t.program(strings.TrimPrefix(filepath.Clean(path), "/"), file)
	return nil
}
