//go:build kubernetes

package manifest_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// node runs what containers say on this machine: folders stand for volumes, by the paths at which they are mounted.
type node struct {
	t       *testing.T
	owner   *syscall.Credential
	folders map[string]string
	secrets map[string]*corev1.Secret
}

func newNode(t *testing.T) *node {
	t.Helper()
	owner, err := process.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	return &node{t: t, owner: owner, folders: map[string]string{}, secrets: map[string]*corev1.Secret{}}
}

// mount gives a path of containers a new folder, with files.
func (n *node) mount(path string, files map[string]string) string {
	n.t.Helper()
	dir := stand.Dir(n.t)
	n.give(dir)
	n.folders[path] = dir
	for name, content := range files {
		n.write(filepath.Join(dir, name), n.here(content))
	}
	return dir
}

func (n *node) write(path, content string) {
	n.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.give(path)
}

func (n *node) give(path string) {
	n.t.Helper()
	if n.owner == nil {
		return
	}
	if err := os.Chown(path, int(n.owner.Uid), int(n.owner.Gid)); err != nil {
		n.t.Fatal(err)
	}
}

// here replaces the paths of containers with the folders on this machine.
func (n *node) here(text string) string {
	var pairs []string
	for path, dir := range n.folders {
		pairs = append(pairs, path, dir)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// run runs a container's command to its end, and returns what it said. Variables override the container's.
func (n *node) run(c corev1.Container, variables ...string) (string, error) {
	n.t.Helper()
	command := slices.Concat(c.Command, c.Args)
	for i := range command {
		command[i] = n.here(command[i])
	}
	cmd := exec.CommandContext(stand.Within(n.t, 5*time.Minute), command[0], command[1:]...)
	cmd.Env = []string{"PATH=" + stand.PostgresPath(n.t)}
	for _, v := range c.Env {
		value := n.here(v.Value)
		if v.ValueFrom != nil {
			ref := v.ValueFrom.SecretKeyRef
			value = string(n.secrets[ref.Name].Data[ref.Key])
		}
		cmd.Env = append(cmd.Env, v.Name+"="+value)
	}
	cmd.Env = append(cmd.Env, variables...)
	var output bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: n.owner, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with the server that it may have started
	err := cmd.Run()
	return output.String(), err
}

// mustRun is run where it must succeed.
func (n *node) mustRun(c corev1.Container, variables ...string) string {
	n.t.Helper()
	said, err := n.run(c, variables...)
	if err != nil {
		n.t.Fatalf("container %s: %v\n%s", c.Name, err, said)
	}
	return said
}

// server starts the server of a container with the container's settings, on the container's data.
func (n *node) server(c corev1.Container) *pgserver.Server {
	n.t.Helper()
	data := ""
	for _, v := range c.Env {
		if v.Name == "PGDATA" {
			data = n.here(v.Value)
		}
	}
	settings := map[string]string{}
	for _, arg := range c.Args {
		if name, value, is := strings.Cut(arg, "="); is {
			settings[name] = n.here(value)
		}
	}
	return stand.Postgres(n.t, func(cfg *pgserver.Config) { cfg.DataDir, cfg.Settings = data, settings })
}

// programs are the files of an archive's programs.
func programs(t *testing.T, c manifest.Cluster) map[string]string {
	t.Helper()
	config, err := c.ArchivePrograms()
	if err != nil {
		t.Fatal(err)
	}
	return config.Data
}

// files lists the names in a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
