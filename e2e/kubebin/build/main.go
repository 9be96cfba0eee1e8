// Command build puts Kubernetes' programs for tests into the cache and prints their folder, for KUBEBUILDER_ASSETS.
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
	var dir string
	if err == nil {
		dir, err = kubebin.Ensure(ctx, cache, report(time.Now, 10*time.Second))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build Kubernetes' programs:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// report writes a line for every program's beginning and, at most, each interval.
func report(now func() time.Time, interval time.Duration) kubebin.Progress {
	var program string
	var last time.Time
	return func(p string, done, total int) {
		if p == program && now().Sub(last) < interval {
			return
		}
		program, last = p, now()
		fmt.Fprintf(os.Stderr, "building %s %s: %d of at most %d packages\n", p, kubebin.Version, done, total)
	}
}
