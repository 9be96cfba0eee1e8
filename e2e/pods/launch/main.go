// Command launch runs the tests on pods in a pod of a cluster that it does not make itself: the one that the kubeconfig's context names, or
// one of kind's, which takes Docker and ends with the tests.
//
//	launch [--kind | --registry PREFIX] [--images kafka] -- [TEST-ARGUMENT …]
//
// The images of the tests get into kind's nodes as files. Those of another cluster are pushed to PREFIX/NAME:TAG with the credentials that
// docker login has left; without a registry, FRESHET_E2E_IMAGES names images that the cluster's nodes have or can pull, as a run with one
// prints it. The cluster needs two nodes on which pods may run, and a default class of volumes that both can mount.
// The operator stays installed when the tests are over, as Helm's release freshet in the namespace freshet-system.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/freshet-io/freshet/e2e/images"
	"github.com/freshet-io/freshet/e2e/pods"
	"github.com/freshet-io/freshet/local/toolchain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "run the tests on pods:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (code int, failed error) {
	flags := flag.NewFlagSet("launch", flag.ContinueOnError)
	inKind := flags.Bool("kind", false, "make a cluster with kind, in Docker")
	registry := flags.String("registry", "", "push the images to this registry, or this part of one")
	demanded := images.DemandFlag(flags)
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	if *inKind && *registry != "" {
		return 2, errors.New("a cluster of kind needs no registry: leave out --kind or --registry")
	}
	references, kubeconfig := os.Getenv(images.Variable), ""
	if *inKind || *registry != "" {
		cache, all, err := build(ctx, *inKind, append(*demanded, images.Tests))
		if err != nil {
			return 1, err
		}
		references = images.References(all)
		if *inKind {
			made, err := startKind(ctx, cache, all)
			if err != nil {
				return 1, err
			}
			defer func() { failed = errors.Join(failed, made.end()) }()
			kubeconfig = made.kubeconfig
		} else {
			pushed, err := push(ctx, all, *registry)
			if err != nil {
				return 1, err
			}
			references = images.References(pushed)
		}
		report(images.Variable + "=" + references)
	}
	if references == "" {
		return 2, fmt.Errorf("where are the images? Say --kind, --registry PREFIX, or set %s", images.Variable)
	}
	client, err := connect(kubeconfig)
	if err != nil {
		return 1, err
	}
	return runPod(ctx, client, references, flags.Args())
}

// build builds the images, unless they are for kind and there is no Docker to run it in.
func build(ctx context.Context, forKind bool, demanded []string) (*toolchain.Cache, []images.Image, error) {
	if forKind {
		if err := pods.Command(ctx, "docker", "version"); err != nil {
			return nil, nil, fmt.Errorf("kind needs a Docker that runs: %w", err)
		}
	}
	cache, err := toolchain.Default()
	if err != nil {
		return nil, nil, err
	}
	all, err := images.Build(ctx, cache, report, demanded...)
	return cache, all, err
}

// connect uses a kubeconfig; empty: what kubectl uses.
func connect(kubeconfig string) (kubernetes.Interface, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w; KUBECONFIG says which", err)
	}
	return kubernetes.NewForConfig(cfg)
}

func push(ctx context.Context, all []images.Image, registry string) ([]images.Image, error) {
	var pushed []images.Image
	for _, image := range all {
		report("pushing " + image.Name)
		there, err := images.Push(ctx, image, registry)
		if err != nil {
			return nil, fmt.Errorf("push image %s to %s: %w", image.Name, registry, err)
		}
		pushed = append(pushed, there)
	}
	return pushed, nil
}

func report(step string) {
	fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), step)
}
