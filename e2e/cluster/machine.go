package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// needs are the programs of the machine that nodes consist of.
var needs = []struct{ program, pkg string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"nft", "nftables"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
	{"sysctl", "procps"},
	{"mount", "mount"},
}

// find looks for a program also where only root has its PATH.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", program))
}

// plugins returns the folder of the CNI plugins.
func plugins() (string, error) {
	for _, dir := range []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"} {
		if _, err := os.Stat(filepath.Join(dir, "ptp")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("the CNI plugins: install containernetworking-plugins (Debian, Ubuntu: apt-get install containernetworking-plugins)")
}
