// Command build builds the images of the tests on Kubernetes into the cache and prints "NAME REF PATH" for each, for use by hand.
// Its arguments name images that are built on demand only.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/freshet-io/freshet/e2e/images"
	"github.com/freshet-io/freshet/local/toolchain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, demanded []string) error {
	cache, err := toolchain.Default()
	if err != nil {
		return err
	}
	list, err := images.Build(ctx, cache, func(message string) { fmt.Fprintln(os.Stderr, message) }, demanded...)
	if err != nil {
		return err
	}
	for _, image := range list {
		fmt.Println(image.Name, image.Ref, image.Path)
	}
	return nil
}
