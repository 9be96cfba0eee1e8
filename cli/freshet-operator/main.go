// Command freshet-operator runs the operator in a Kubernetes cluster, or beside one with KUBECONFIG. The chart in
// charts/freshet installs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/freshet-io/freshet/operator/manager"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "freshet-operator:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg := manager.Config{Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil))}
	flag.StringVar(&cfg.GatewayImage, "gateway-image", "", "image of gateways where an HTAPCluster names none; required")
	flag.StringVar(&cfg.EngineImage, "engine-image", "", "image of columnar engines where an HTAPCluster names none; required")
	flag.StringVar(&cfg.PostgreSQLImage, "postgresql-image", "", "image of builtin databases where an HTAPCluster names none; required")
	flag.StringVar(&cfg.MetricsAddr, "metrics-listen", "", "host:port of /metrics")
	flag.StringVar(&cfg.ProbeAddr, "probe-listen", "", "host:port of /healthz and /readyz")
	flag.BoolVar(&cfg.LeaderElection, "leader-elect", false, "work only while no other operator does")
	flag.StringVar(&cfg.Namespace, "leader-election-namespace", "", "namespace of the lease; the pod's own unless given")
	flag.Parse()
	if flag.NArg() > 0 {
		return errors.New("there are flags only, no arguments")
	}
	ctrl.SetLogger(logr.FromSlogHandler(cfg.Logger.Handler()))
	api, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w; run in a pod, or set KUBECONFIG", err)
	}
	return manager.Run(ctrl.SetupSignalHandler(), api, cfg)
}
