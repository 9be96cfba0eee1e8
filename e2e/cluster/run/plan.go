package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/freshet-io/freshet/e2e/cluster"
	"github.com/freshet-io/freshet/e2e/images"
	"github.com/freshet-io/freshet/e2e/kubebin"
	"github.com/freshet-io/freshet/local/toolchain"
)

// plan is what the cluster's owner is told.
type plan struct {
	Cluster cluster.Config
	// Helm is its folder, Images is the value of [images.Variable].
	Helm, Images string
	Command      []string
}

// prepare builds or finds all programs and images.
func prepare(ctx context.Context, nodes int, demanded, command []string) (*plan, error) {
	cache, err := toolchain.Default()
	if err != nil {
		return nil, err
	}
	p := &plan{Command: command, Cluster: cluster.Config{Nodes: nodes}}
	progress := kubebin.Report(func(line string) { fmt.Fprintln(os.Stderr, line) }, time.Now, 10*time.Second)
	for _, s := range []struct {
		set kubebin.Set
		dir *string
	}{
		{kubebin.Kubernetes, &p.Cluster.Programs},
		{kubebin.CoreDNS, &p.Cluster.CoreDNS},
		{kubebin.Provisioner, &p.Cluster.Provisioner},
		{kubebin.Helm, &p.Helm},
	} {
		if *s.dir, err = kubebin.Ensure(ctx, cache, s.set, progress); err != nil {
			return nil, err
		}
	}
	p.Cluster.CoreDNS = filepath.Join(p.Cluster.CoreDNS, "coredns")
	p.Cluster.Provisioner = filepath.Join(p.Cluster.Provisioner, "provisioner")
	all, err := images.Build(ctx, cache, func(step string) { fmt.Fprintln(os.Stderr, "images:", step) }, demanded...)
	if err != nil {
		return nil, err
	}
	for _, image := range all {
		p.Cluster.Images = append(p.Cluster.Images, image.Path)
	}
	p.Images = images.References(all)
	p.Cluster.Pause = images.PauseRef
	return p, nil
}

const planFile = "plan.json"

func (p *plan) save(dir string) error {
	p.Cluster.Dir = dir
	text, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, planFile), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("save the cluster's plan: %w", err)
	}
	return nil
}

func load(dir string) (*plan, error) {
	var p plan
	text, err := os.ReadFile(filepath.Join(dir, planFile))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("read the cluster's plan: %w", err)
	}
	return &p, nil
}

// own starts the cluster and runs the command; its exit code is returned.
func own(ctx context.Context, dir string) (int, error) {
	p, err := load(dir)
	if err != nil {
		return 1, err
	}
	begin := time.Now()
	p.Cluster.Progress = func(step string) {
		fmt.Fprintf(os.Stderr, "cluster: %4.1f s: %s\n", time.Since(begin).Seconds(), step)
	}
	c, err := cluster.Start(ctx, p.Cluster)
	if err != nil {
		return 1, err
	}
	p.Cluster.Progress("ready")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with this process, which is next
		cancel(<-c.Failed())
	}()
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig,
		"PATH="+strings.Join([]string{p.Cluster.Programs, p.Helm, os.Getenv("PATH")}, string(os.PathListSeparator)),
		images.Variable+"="+p.Images)
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, errors.Join(err, context.Cause(ctx))
}
