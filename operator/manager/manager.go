package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cluster"
	"github.com/freshet-io/freshet/operator/internal/cockroach"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/nodepool"
	"github.com/freshet-io/freshet/operator/internal/pipeline"
	"github.com/freshet-io/freshet/operator/internal/tenant"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// Config says how to run an operator. The images are required.
type Config struct {
	// GatewayImage, EngineImage and PostgreSQLImage are run where an HTAPCluster names no other.
	GatewayImage, EngineImage, PostgreSQLImage string
	// MetricsAddr and ProbeAddr are host:port of /metrics, and of /healthz and /readyz; empty: none.
	MetricsAddr, ProbeAddr string
	// LeaderElection lets one of several operators work; Namespace is where its lease is, empty: the pod's own.
	LeaderElection bool
	Namespace      string

	Logger *slog.Logger
}

// Run runs an operator on the API server until ctx ends.
func Run(ctx context.Context, api *rest.Config, cfg Config) error {
	if cfg.GatewayImage == "" || cfg.EngineImage == "" || cfg.PostgreSQLImage == "" {
		return errors.New("configure operator: the images of gateway, engine and PostgreSQL are needed")
	}
	mgr, err := newManager(api, cfg, func(*ctrl.Options) {})
	if err != nil {
		return err
	}
	clusters := &cluster.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Watched: mgr.GetCache(), Databases: database.PostgreSQL{}, Pipelines: pipeline.Kafka{}, Cockroaches: cockroach.Servers{}, Units: unit.NewClient(manifest.MonitorPort),
		Images: manifest.Images{Gateway: cfg.GatewayImage, Engine: cfg.EngineImage, PostgreSQL: cfg.PostgreSQLImage},
		Events: mgr.GetEventRecorder(manifest.ManagedBy), Clock: time.Now,
	}
	pools := &nodepool.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader()}
	tenants := &tenant.Reconciler{Client: mgr.GetClient(), Units: clusters.Units}
	if err := errors.Join(clusters.Setup(mgr), pools.Setup(mgr), tenants.Setup(mgr)); err != nil {
		return err
	}
	conditions := cluster.NewConditions(mgr.GetCache(), mgr.Elected())
	if err := metrics.Registry.Register(conditions); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	defer metrics.Registry.Unregister(conditions)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run operator: %w", err)
	}
	return nil
}

// newManager returns a manager without controllers, whose options tune may change.
func newManager(api *rest.Config, cfg Config, tune func(*ctrl.Options)) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	ours := apilabels.SelectorFromSet(apilabels.Set{manifest.ManagedByLabel: manifest.ManagedBy})
	claims, err := apilabels.Parse(manifest.ClusterLabel) // which is all that StatefulSets give them
	if err != nil {
		return nil, fmt.Errorf("select claims: %w", err)
	}
	options := ctrl.Options{
		Scheme: scheme,
		Logger: logr.FromSlogHandler(logger(cfg).Handler()),
		// Without a type are the objects of other operators', which are watched too. Secrets and claims are read by name: what is watched of
		// claims is not those of somebody else.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.PersistentVolumeClaim{}}, Unstructured: true}},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}:                   {Label: ours},
				&batchv1.Job{}:                  {Label: ours},
				&corev1.PersistentVolumeClaim{}: {Label: claims},
				&corev1.Node{}:                  {Transform: nodepool.Slim},
				&corev1.ConfigMap{}:             {Transform: slim},
			},
		},
		Metrics:                       metricsserver.Options{BindAddress: orNone(cfg.MetricsAddr)},
		HealthProbeBindAddress:        orNone(cfg.ProbeAddr),
		LeaderElection:                cfg.LeaderElection,
		LeaderElectionID:              "freshet-operator",
		LeaderElectionNamespace:       cfg.Namespace,
		LeaderElectionReleaseOnCancel: true, // the program ends with the manager
	}
	tune(&options)
	mgr, err := ctrl.NewManager(api, options)
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, fmt.Errorf("add probes: %w", err)
	}
	return mgr, nil
}

// slim takes out of somebody else's ConfigMap what is in it: nobody here reads more than whose it is, and a Kubernetes cluster may have gigabytes of them.
func slim(obj any) (any, error) {
	if c, ok := obj.(*corev1.ConfigMap); ok {
		c.ManagedFields = nil
		if c.Labels[manifest.ManagedByLabel] != manifest.ManagedBy {
			c.Data, c.BinaryData = nil, nil
		}
	}
	return obj, nil
}

// newScheme returns the types that the operator reads and writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return scheme, nil
}

func logger(cfg Config) *slog.Logger {
	if cfg.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return cfg.Logger
}

// orNone is how controller-runtime is told not to listen.
func orNone(addr string) string {
	if addr == "" {
		return "0"
	}
	return addr
}
