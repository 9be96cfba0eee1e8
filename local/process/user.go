package process

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Unprivileged returns the user that a server which refuses to run as root runs as: nil when
// the caller is not root, else the first that exists of postgres and nobody.
func Unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	candidates := []string{"postgres", "nobody"}
	for _, candidate := range candidates {
		u, err := user.Lookup(candidate)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("look up user %s: %w", candidate, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("look up user %s: %w", candidate, err)
		}
		if uid == 0 {
			return nil, fmt.Errorf("run as user %s: it is root itself; give it a user id of its own", candidate)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("find an unprivileged user to run as: none of %v exists; create one, or run as another user than root", candidates)
}

// Reachable reports, as an error, the first folder on the way to path that a user cannot pass.
// A nil credential, the caller itself, always passes.
func Reachable(path string, as *syscall.Credential) error {
	if as == nil {
		return nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("reach %s: %w", path, err)
		}
		if !passable(info, as) {
			return fmt.Errorf("reach %s as user %d: folder %s is closed to it (mode %v); choose a folder elsewhere, or chmod o+x it",
				path, as.Uid, dir, info.Mode().Perm())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func passable(info os.FileInfo, as *syscall.Credential) bool {
	const ownerX, groupX, otherX = 0o100, 0o010, 0o001
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && st.Uid == as.Uid:
		return info.Mode()&ownerX != 0
	case ok && st.Gid == as.Gid:
		return info.Mode()&groupX != 0
	default:
		return info.Mode()&otherX != 0
	}
}
