package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// cgroup is the group in which all pods of the cluster in a folder run: several clusters do not get into each other's way.
func cgroup(dir string) string { return "/" + filepath.Base(dir) }

const cgroups = "/sys/fs/cgroup"

// hierarchies returns the folders of the machine's control groups: one in version 2, one for each controller in version 1.
func hierarchies() ([]string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(cgroups, &stat); err != nil {
		return nil, fmt.Errorf("find control groups: %w", err)
	}
	if stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return []string{cgroups}, nil
	}
	all, err := filepath.Glob(filepath.Join(cgroups, "*", "cgroup.procs"))
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all, err
}

// makeCgroup creates a group with the processors and memory of all its parents.
func makeCgroup(path string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		for _, group := range []string{filepath.Dir(path), path} {
			if err := os.MkdirAll(filepath.Join(root, group), 0o755); err != nil {
				return fmt.Errorf("create the control group %s: %w", group, err)
			}
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				if err := inherit(filepath.Join(root, group), file); err != nil {
					return fmt.Errorf("create the control group %s: %w", group, err)
				}
			}
		}
	}
	return nil
}

// inherit copies a setting from a group's parent: in version 1 a new group has no processors.
func inherit(group, file string) error {
	value, err := os.ReadFile(filepath.Join(filepath.Dir(group), file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(group, file), value, 0o644)
}

// RemoveCgroups removes the groups of the cluster in a folder, which has ended.
func RemoveCgroups(dir string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		err = errors.Join(err, removeGroup(filepath.Join(root, cgroup(dir))))
	}
	return err
}

// removeGroup removes a group and those in it, which is done from the inside out.
func removeGroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroup(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return unix.Rmdir(dir)
}
