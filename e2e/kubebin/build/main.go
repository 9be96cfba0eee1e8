// Command build puts Kubernetes' programs and Helm into the cache. It prints the folder of the former, for
// KUBEBUILDER_ASSETS, and the path of Helm, as assignments for a shell.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/freshet-io/freshet/e2e/kubebin"
	"github.com/freshet-io/freshet/local/toolchain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cache, err := toolchain.Default()
	var kubernetes, helm string
	progress := kubebin.Report(func(line string) { fmt.Fprintln(os.Stderr, line) }, time.Now, 10*time.Second)
	if err == nil {
		helm, err = kubebin.Ensure(ctx, cache, kubebin.Helm, progress)
	}
	if err == nil {
		kubernetes, err = kubebin.Ensure(ctx, cache, kubebin.Kubernetes, progress)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build programs for tests:", err)
		os.Exit(1)
	}
	fmt.Printf("KUBEBUILDER_ASSETS=%s\nFRESHET_HELM=%s/helm\n", kubernetes, helm)
}
