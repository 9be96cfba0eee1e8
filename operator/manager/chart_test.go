//go:build kubernetes

package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The chart's release in tests, and the name of its ServiceAccount.
const (
	release         = "freshet"
	operatorAccount = "system:serviceaccount:" + release + ":freshet-operator"
)

// withPrometheusOperator among the values of renderChart renders for a cluster that has the CRDs of the Prometheus Operator.
const withPrometheusOperator = "global.prometheusOperator=true"

// renderChart returns the chart's objects.
func renderChart(ctx context.Context, values ...string) ([]*unstructured.Unstructured, error) {
	args := []string{"template", release, "../../charts/freshet", "--namespace", release, "--kube-version", "1.36.3"}
	for _, v := range values {
		if v == withPrometheusOperator {
			args = append(args, "--api-versions", "monitoring.coreos.com/v1")
		}
		args = append(args, "--set", v)
	}
	cmd := exec.CommandContext(ctx, os.Getenv("FRESHET_HELM"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("helm template: %w: %s", err, stderr.String())
	}
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the chart's objects: %w", err)
		}
		objects = append(objects, o)
	}
}

// installChart creates the chart's objects, so that operators in tests may do what its roles allow, and no more.
func installChart(ctx context.Context, api *rest.Config) error {
	c, err := client.New(api, client.Options{})
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: release}}
	if err := c.Create(ctx, namespace); err != nil {
		return err
	}
	objects, err := renderChart(ctx)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func TestChart_runsTheOperatorRestricted(t *testing.T) {
	w := newWorld(t)
	objects, err := renderChart(t.Context(), "replicas=2", "image.tag=v9", "imagePullSecrets={pull}", "nodeSelector.pool=infra")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &deployment); err != nil {
				t.Fatal(err)
			}
		}
	}
	template := deployment.Spec.Template
	w.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "operator", Labels: template.Labels}, Spec: template.Spec}) // refused unless restricted
	if image := template.Spec.Containers[0].Image; *deployment.Spec.Replicas != 2 || image != "freshet:v9" || template.Spec.NodeSelector["pool"] != "infra" {
		t.Errorf("values are not in the Deployment: %+v", deployment.Spec)
	}
}

func TestChart_refusesValuesThatItDoesNotKnow(t *testing.T) {
	for value, want := range map[string]string{"replicas=0": "replicas", "imagee.tag=1": "imagee", "image.repository=": "repository"} {
		if _, err := renderChart(t.Context(), value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
}
