package kubebin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/freshet-io/freshet/local/toolchain"
)

// Version of Kubernetes, which its programs report.
const Version = "1.36.3"

// Set is what one module builds.
type Set struct {
	name, version string
	// module is its folder in e2e.
	module   string
	programs []program
}

type program struct{ name, pkg string }

// Kubernetes is what a cluster takes. Its first three are what an API server for tests takes, under the names by which envtest looks
// for them.
var Kubernetes = Set{"kubernetes", Version, "kubernetes", []program{
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
	{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
	{"kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"},
	{"kubelet", "k8s.io/kubernetes/cmd/kubelet"},
}}

// Kubectl is one of them, where a cluster is there already.
var Kubectl = Set{"kubernetes", Version, "kubernetes", []program{{"kubectl", "k8s.io/kubernetes/cmd/kubectl"}}}

// CoreDNS answers for the names of services and pods.
var CoreDNS = Set{"coredns", "1.15.0", "coredns", []program{{"coredns", "."}}}

// Provisioner makes volumes.
var Provisioner = Set{"provisioner", "13.0.0", "provisioner", []program{{"provisioner", "."}}}

// Helm renders charts.
var Helm = Set{"helm", "3.22.0", "helm", []program{{"helm", "helm.sh/helm/v3/cmd/helm"}}}

// Kind makes clusters in Docker.
var Kind = Set{"kind", "0.33.0", "kind", []program{{"kind", "sigs.k8s.io/kind"}}}

// Progress is called while a program is built: done of total packages. A build of everything takes 8 to 18 minutes on two cores.
type Progress func(program string, done, total int)

// Ensure returns a folder with the programs of a set, and builds there what is missing. Several processes may call it at the same time:
// one builds, the others wait.
func Ensure(ctx context.Context, cache *toolchain.Cache, set Set, progress Progress) (string, error) {
	module, err := moduleDir(ctx, set.module)
	if err != nil {
		return "", fmt.Errorf("find module e2e/%s: %w", set.module, err)
	}
	key, err := moduleKey(module)
	if err != nil {
		return "", fmt.Errorf("read module %s: %w", module, err)
	}
	dir := filepath.Join(cache.Dir, set.name+"-"+set.version+"-"+key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the cache folder: %w; set %s to another place", err, toolchain.CacheVariable)
	}
	unlock, err := toolchain.Lock(ctx, filepath.Join(dir, ".lock"), nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	for _, p := range set.programs {
		if err := ensure(ctx, module, dir, p, progress); err != nil {
			return "", fmt.Errorf("build %s: %w", p.name, err)
		}
	}
	return dir, nil
}

// moduleDir returns the folder of a module that names programs' versions.
func moduleDir(ctx context.Context, name string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/freshet-io/freshet").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "e2e", name), nil
}

// moduleKey tells builds from different versions apart.
func moduleKey(module string) (string, error) {
	h := sha256.New()
	for _, file := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// ensure builds a program unless it is there.
func ensure(ctx context.Context, module, dir string, p program, progress Progress) error {
	final := filepath.Join(dir, p.name)
	if _, err := os.Stat(final); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	staging := final + ".staging" // the lock is held: what lies here is the rest of an interrupted build
	flags := "-s -w -X k8s.io/component-base/version.gitVersion=v" + Version
	args := []string{"build", "-v", "-trimpath", "-ldflags", flags, "-o", staging, p.pkg}
	total, err := packages(ctx, module, p)
	if err != nil {
		return err
	}
	cmd := goCommand(ctx, module, args...)
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var other bytes.Buffer // what is not the name of a package that is compiled
	done := 0
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.ContainsAny(lines.Text(), " :") {
			fmt.Fprintln(&other, lines.Text())
			continue
		}
		done++
		if progress != nil {
			progress(p.name, done, total)
		}
	}
	_, _ = io.Copy(&other, log) // a line too long for the scanner must not hold up the build
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, other.String())
	}
	return os.Rename(staging, final)
}

// packages counts what a program consists of.
func packages(ctx context.Context, module string, p program) (int, error) {
	cmd := goCommand(ctx, module, "list", "-deps", p.pkg)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	return bytes.Count(out, []byte{'\n'}), nil
}

func goCommand(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return cmd
}
