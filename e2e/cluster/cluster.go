package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Config says what to start.
type Config struct {
	// Programs is the folder of etcd and Kubernetes' programs; CoreDNS and Provisioner are programs.
	Programs, CoreDNS, Provisioner string
	// Dir is an empty folder for data and logs. It takes some gigabytes, and its name is that of the cluster's control group.
	Dir string
	// Nodes is their number, at least one.
	Nodes int
	// Images are archives for all nodes. Pause is the name of the one that holds a pod's namespaces.
	Images []string
	Pause  string
	// Progress is told what is being done; nil is silent.
	Progress func(step string) `json:"-"`
}

// Cluster is a running cluster.
type Cluster struct {
	// Kubeconfig is a file with the rights of an administrator.
	Kubeconfig string

	cfg    Config
	client *kubernetes.Clientset
	ended  chan error
	ends   sync.WaitGroup
	tokens map[string]string
}

// Start starts a cluster in the namespaces that Init has prepared. It returns when its nodes are ready, and runs until these namespaces end.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	c := &Cluster{cfg: cfg, ended: make(chan error, 1), tokens: map[string]string{}, Kubeconfig: filepath.Join(cfg.Dir, "kubeconfig")}
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "log"), 0o755); err != nil {
		return nil, fmt.Errorf("create the cluster's folder: %w", err)
	}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"network", func(ctx context.Context) error { return network(ctx, cfg.Nodes) }},
		{"control plane", c.startControlPlane},
		{"names", c.startDNS},
		{"nodes", c.startNodes},
		{"volumes", c.startVolumes},
	}
	for _, s := range steps {
		if cfg.Progress != nil {
			cfg.Progress(s.name)
		}
		if err := s.run(ctx); err != nil {
			return nil, fmt.Errorf("start the cluster's %s: %w", s.name, err)
		}
	}
	return c, nil
}

// Failed gets an error when a program of the cluster has ended, which none should.
func (c *Cluster) Failed() <-chan error { return c.ended }

// connect makes the clients of this package, which have the rights of an administrator.
func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	c.client, err = kubernetes.NewForConfig(config)
	return err
}

// Check returns an error that says what this machine lacks for a cluster.
func Check() error {
	var lacks []error
	if os.Geteuid() != 0 {
		lacks = append(lacks, errors.New("root's rights: run it as root"))
	}
	for _, p := range needs {
		if _, err := find(p.program); err != nil {
			lacks = append(lacks, fmt.Errorf("the program %s: install %s (Debian, Ubuntu: apt-get install %s)", p.program, p.pkg, p.pkg))
		}
	}
	if _, err := plugins(); err != nil {
		lacks = append(lacks, err)
	}
	return errors.Join(lacks...)
}
