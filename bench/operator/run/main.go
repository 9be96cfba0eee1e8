// Command run measures the operator at scale. It builds what it needs of Kubernetes into the cache first: 8 to 18 minutes, once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/freshet-io/freshet/bench/operator"
	"github.com/freshet-io/freshet/e2e/kubebin"
	"github.com/freshet-io/freshet/local/toolchain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o operator.Options
	flag.StringVar(&o.Operator, "operator", "bin/freshet-operator", "path of freshet-operator")
	flag.StringVar(&o.Chart, "chart", "charts/freshet", "folder of the chart")
	flag.StringVar(&o.Dir, "dir", "", "folder for the data while it runs (default: the system's for temporary files)")
	flag.IntVar(&o.Clusters, "clusters", 200, "HTAPClusters")
	flag.IntVar(&o.Namespaces, "namespaces", 50, "namespaces that they are spread over")
	flag.IntVar(&o.Units, "units", 2, "units of each")
	flag.IntVar(&o.Nodes, "nodes", 1000, "nodes")
	flag.DurationVar(&o.Steady, "steady", time.Minute, "time in which nothing changes")
	json := flag.String("json", "", "file for the results as JSON")
	html := flag.String("html", "", "file for the report as a page")
	flag.Parse()
	start := time.Now()
	o.Progress = func(step string) { fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(start).Seconds(), step) }
	ctrl.SetLogger(logr.Discard()) // the players'
	if err := findPrograms(ctx, &o); err != nil {
		return err
	}
	r, err := operator.Run(ctx, o)
	if err != nil {
		return err
	}
	errs := []error{r.Text(os.Stdout)}
	if *json != "" {
		errs = append(errs, write(*json, r.JSON))
	}
	if *html != "" {
		errs = append(errs, write(*html, r.HTML))
	}
	return errors.Join(errs...)
}

func findPrograms(ctx context.Context, o *operator.Options) error {
	cache, err := toolchain.Default()
	if err != nil {
		return err
	}
	progress := func(program string, done, total int) {
		if done%100 == 0 {
			o.Progress(fmt.Sprintf("building %s: %d of at most %d packages", program, done, total))
		}
	}
	if o.Programs, err = kubebin.Ensure(ctx, cache, kubebin.Kubernetes, progress); err != nil {
		return err
	}
	helm, err := kubebin.Ensure(ctx, cache, kubebin.Helm, progress)
	if err != nil {
		return err
	}
	o.Helm = filepath.Join(helm, "helm")
	o.Postgres, err = cache.Postgres(ctx)
	return err
}

func write(path string, form func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return errors.Join(form(f), f.Close())
}
