package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// The chart's release, and the user that its ServiceAccount is.
const (
	release = "freshet"
	account = "system:serviceaccount:" + release + ":freshet-operator"
)

// auditPolicy records what the operator asks, and nothing else.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, users: ["` + account + `"]}
  - {level: None}
`

// world is what surrounds the operator.
type world struct {
	o        Options
	dir      string
	server   envtest.Environment
	api      *rest.Config
	client   client.WithWatch
	postgres *pgserver.Server
	audit    *audit
	// kubeconfig is the operator's.
	kubeconfig string
}

// start starts the servers and installs the chart. It must be stopped also where this fails.
func (w *world) start(ctx context.Context) (err error) {
	if w.dir, err = os.MkdirTemp(w.o.Dir, "freshet-bench-"); err != nil {
		return fmt.Errorf("set up benchmark: %w", err)
	}
	if err := os.Chmod(w.dir, 0o711); err != nil { // PostgreSQL's user must be able to pass
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"starting etcd and the API server", w.startServer},
		{"starting PostgreSQL", w.startPostgres},
		{"installing the chart", w.installChart},
	} {
		w.o.progress(step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

func (w *world) stop(ctx context.Context) error {
	errs := []error{w.server.Stop()}
	if w.postgres != nil {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		errs = append(errs, w.postgres.Stop(ctx))
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

func (w *world) startServer(context.Context) error {
	policy := filepath.Join(w.dir, "audit.yaml")
	w.audit = &audit{path: filepath.Join(w.dir, "audit.log")}
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	w.server.BinaryAssetsDirectory = w.o.Programs
	w.server.ControlPlaneStartTimeout = time.Minute
	w.server.CRDDirectoryPaths, w.server.ErrorIfCRDPathMissing = []string{filepath.Join(w.o.Chart, "crds")}, true
	w.server.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).Set("audit-log-path", w.audit.path).
		Append("disable-admission-plugins", "TaintNodesByCondition") // its taints are taken away by a controller that is not here
	var err error
	if w.api, err = w.server.Start(); err != nil {
		return err
	}
	w.api.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if w.client, err = client.NewWithWatch(w.api, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	user, err := w.server.AddUser(envtest.User{Name: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + release}}, w.api)
	if err != nil {
		return err
	}
	config, err := user.KubeConfig()
	if err != nil {
		return err
	}
	w.kubeconfig = filepath.Join(w.dir, "kubeconfig")
	return os.WriteFile(w.kubeconfig, config, 0o600)
}

func (w *world) startPostgres(ctx context.Context) (err error) {
	// As many slots as the clusters' units would take, were they real: the operator sees whether there are.
	slots := fmt.Sprint(2*w.o.Clusters*w.o.Units + 16)
	w.postgres, err = pgserver.New(pgserver.Config{
		Home: w.o.Postgres, DataDir: filepath.Join(w.dir, "postgres"), Volatile: true,
		Settings: map[string]string{"max_replication_slots": slots, "max_wal_senders": slots, "shared_buffers": "64MB"},
	})
	if err != nil {
		return err
	}
	return w.postgres.Start(ctx)
}

// installChart creates the chart's objects: of them the permissions matter here.
func (w *world) installChart(ctx context.Context) error {
	if err := w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: release}}); err != nil {
		return err
	}
	admin := filepath.Join(w.dir, "admin.kubeconfig")
	if err := os.WriteFile(admin, w.server.KubeConfig, 0o600); err != nil {
		return err
	}
	objects, err := run(exec.CommandContext(ctx, w.o.Helm, "template", release, w.o.Chart, "--namespace", release, "--kube-version", "1.36.3"))
	if err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, filepath.Join(w.o.Programs, "kubectl"), "apply", "--kubeconfig", admin, "-f", "-")
	apply.Stdin = bytes.NewReader(objects)
	_, err = run(apply)
	return err
}

func run(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(cmd.Path), cmd.Args[1], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
