// Command run starts a cluster, runs a command in it with its kubeconfig, and ends the cluster with the command: tests, or a shell to try
// things.
//
//	run [--nodes N] [--images kafka,tests] -- COMMAND [ARGUMENT …]
//
// The command's environment has KUBECONFIG, kubectl and helm in its PATH, and in FRESHET_E2E_IMAGES name=reference of each image,
// separated by commas. It reaches services and pods, and resolves their names as a pod does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/freshet-io/freshet/e2e/cluster"
	"github.com/freshet-io/freshet/e2e/images"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code, err := stage(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "run a cluster:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// The program runs three times, each as the child of the one before: for the user, as the first process of the namespaces, and as the
// cluster's owner in them.
const (
	firstStage = "first-process"
	ownerStage = "owner"
)

func stage(ctx context.Context, args []string) (int, error) {
	if len(args) == 2 {
		switch dir := args[1]; args[0] {
		case firstStage:
			return cluster.Init(dir, ownerStage, dir)
		case ownerStage:
			return own(ctx, dir)
		}
	}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	nodes := flags.Int("nodes", 1, "number of nodes")
	demanded := images.DemandFlag(flags)
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	if *nodes < 1 || *nodes > 9 || flags.NArg() == 0 {
		return 2, errors.New("usage: run [--nodes 1…9] [--images NAME,…] -- COMMAND [ARGUMENT …]")
	}
	return run(ctx, *nodes, *demanded, flags.Args())
}

// run prepares everything that takes the network, and then runs the rest in namespaces of its own.
func run(ctx context.Context, nodes int, demanded, command []string) (code int, err error) {
	if err := cluster.Check(); err != nil {
		return 1, fmt.Errorf("this machine lacks: %w", err)
	}
	dir, err := os.MkdirTemp("", "freshet-e2e-")
	if err != nil {
		return 1, err
	}
	plan, err := prepare(ctx, nodes, demanded, command)
	if err == nil {
		err = plan.save(dir)
	}
	if err != nil {
		return 1, errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, cluster.RemoveCgroups(dir), clean(dir, code == 0 && err == nil)) }()
	return cluster.Isolate(ctx, firstStage, dir)
}

// clean removes the cluster's folder. Of one that failed it leaves the logs.
func clean(dir string, passed bool) error {
	if passed {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != "log" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	fmt.Fprintln(os.Stderr, "the cluster's logs are in", filepath.Join(dir, "log"))
	return err
}
