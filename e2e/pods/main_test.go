//go:build e2e

package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/freshet-io/freshet/e2e/images"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// installation is what all tests share: an API server, and the operator, which Helm has installed.
type installation struct {
	client.Client
	images map[string]string
	// privileged is a namespace for pods with the rights of their node.
	privileged string
}

var shared *installation

// Where the operator is.
const (
	operatorNamespace = "freshet-system"
	releaseName       = "freshet"
	operatorName      = "freshet-operator"
)

func TestMain(m *testing.M) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	p, err := install(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "install the operator:", err)
		os.Exit(1)
	}
	shared = p
	code := m.Run()
	if err := p.end(); err != nil {
		fmt.Fprintln(os.Stderr, "delete the namespace of privileged pods:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// install installs the chart as a user does.
func install(ctx context.Context) (*installation, error) {
	references, err := images.ParseReferences(os.Getenv(images.Variable))
	if err != nil {
		return nil, err
	}
	freshet, err := name.NewTag(references[images.Freshet])
	if err != nil {
		return nil, err
	}
	p := &installation{images: references}
	rest, err := config.GetConfig()
	if err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		return nil, err
	}
	if p.Client, err = client.New(rest, client.Options{}); err != nil {
		return nil, err
	}
	ns := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-nodes-", Labels: map[string]string{PodSecurityLabel: "privileged"}}}
	if err := p.Create(ctx, &ns); err != nil {
		return nil, err
	}
	p.privileged = ns.Name
	err = Command(ctx, "helm", "upgrade", "--install", releaseName, "../../charts/freshet", "--namespace", operatorNamespace, "--create-namespace",
		"--set", "image.repository="+freshet.Context().Name(), "--set", "image.tag="+freshet.TagStr(),
		"--set", "images.engine="+p.images[images.ClickHouse], "--set", "images.postgresql="+p.images[images.PostgreSQL], "--wait", "--timeout", "2m")
	if err != nil {
		p.show(os.Stderr, operatorNamespace)
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// end deletes what only tests need. The operator stays, as does what it stands on.
func (p *installation) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return p.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.privileged}})
}

// operator returns the operator's Deployment.
func (p *installation) operator(ctx context.Context) (*appsv1.Deployment, error) {
	var d appsv1.Deployment
	return &d, p.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &d)
}

// show writes what a person would look at first.
func (p *installation) show(out io.Writer, namespace string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"get", "htap,pods,pvc", "--namespace", namespace, "-o", "wide"},
		{"get", "events", "--namespace", namespace, "--sort-by=.metadata.creationTimestamp"},
		{"logs", "--namespace", namespace, "--selector=freshet.io/component=unit", "--container=gateway", "--tail=30", "--prefix"},
		{"logs", "--namespace", namespace, "--selector=" + bystanderLabel, "--tail=30", "--prefix"},
		{"logs", "--namespace", operatorNamespace, "deployment/" + operatorName, "--tail=30"},
	} {
		cmd := exec.CommandContext(ctx, "kubectl", args...)
		cmd.Stdout, cmd.Stderr = out, out
		_ = cmd.Run() // best effort: something has failed already
	}
}
