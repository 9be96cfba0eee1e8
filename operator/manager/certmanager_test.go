//go:build kubernetes

package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// certManager is the module whose definitions are installed, and its checksum.
const (
	certManager    = "github.com/cert-manager/cert-manager@v1.21.2"
	certManagerSum = "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68="
)

// installCertManager installs cert-manager's own definition of Certificates, which its module has. Its controller is played by the test.
func installCertManager(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(stand.Within(t, 5*time.Minute), "go", "mod", "download", "-json", certManager)
	cmd.Dir = t.TempDir() // no module, whose requirements it could add to
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &module); err != nil || jsonErr != nil || module.Sum != certManagerSum {
		t.Fatalf("go mod download %s: %v; %v; %s; checksum %s, want %s", certManager, err, jsonErr, module.Error, module.Sum, certManagerSum)
	}
	definition := filepath.Join(module.Dir, "deploy", "crds", "cert-manager.io_certificates.yaml")
	if _, err := envtest.InstallCRDs(apiServer, envtest.CRDInstallOptions{Paths: []string{definition}}); err != nil {
		t.Fatal(err)
	}
}

// certificate returns cert-manager's Certificate.
func (w *world) certificate() (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("cert-manager.io/v1")
	o.SetKind("Certificate")
	return o, w.get("shop-endpoint-tls", o)
}

// certify plays cert-manager, which has looked at the Certificate.
func (w *world) certify(status, reason, message string) {
	w.t.Helper()
	w.eventually(func() error {
		o, err := w.certificate()
		if err != nil {
			return err
		}
		o.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": o.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}}
		return w.Status().Update(w.t.Context(), o)
	})
}

// awaitPipelineMessage waits until PipelineReady is false for a reason, and requires what it says.
func (w *world) awaitPipelineMessage(reason, want string) {
	w.t.Helper()
	got := w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, reason)
	if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionPipelineReady).Message; m != want {
		w.t.Errorf("PipelineReady says %q, want %q", m, want)
	}
}

// endpointSecret returns the Secret that units have the endpoint's certificate from, and what their restart depends on.
func (w *world) endpointSecret() (name, inputs string) {
	var set appsv1.StatefulSet
	if err := w.get("shop-unit", &set); err != nil {
		return "", ""
	}
	for _, v := range set.Spec.Template.Spec.Volumes {
		if v.Name == "tls" {
			name = v.Secret.SecretName
		}
	}
	return name, set.Spec.Template.Annotations["freshet.io/inputs"]
}

func TestCluster_hasCertManagerIssueItsCertificate(t *testing.T) {
	w := newWorld(t)
	c, database := external(1)
	c.Spec.Gateway.TLS.CertManager = &v1alpha1.CertManagerSpec{IssuerRef: v1alpha1.IssuerReference{Name: "ca"}, DNSNames: []v1alpha1.DNSName{"shop.example.com"}}
	w.create(database)
	w.create(c)
	const remedy = "; see kubectl describe certificate shop-endpoint-tls, its issuer, and the log of cert-manager"
	w.awaitPipelineMessage("CertManagerNotInstalled",
		"kind Certificate of cert-manager.io/v1 does not exist; install cert-manager, or leave gateway.tls.certManager out for a certificate of the operator's own")
	installCertManager(t)
	w.awaitPipelineMessage("CertificateNotReady", `Certificate "shop-endpoint-tls" is not ready: cert-manager has not looked at it yet`+remedy)
	w.certify("False", "DoesNotExist", "Issuing certificate as Secret does not exist")
	w.eventually(func() error {
		got := w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "CertificateNotReady")
		want := `Certificate "shop-endpoint-tls" is not ready: DoesNotExist: Issuing certificate as Secret does not exist` + remedy
		if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionPipelineReady).Message; m != want {
			return fmt.Errorf("PipelineReady says %q", m)
		}
		return nil
	})
	w.certify("True", "Ready", "Certificate is up to date and has not expired")
	w.awaitPipelineMessage("SecretNotFound",
		`Secret "shop-endpoint-tls" with the endpoint's certificate does not exist; cert-manager makes it: see kubectl describe certificate shop-endpoint-tls`)
	issued := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-endpoint-tls"}, Type: corev1.SecretTypeTLS,
		Data: certified(t)}
	w.create(issued)
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	if name, _ := w.endpointSecret(); name != "shop-endpoint-tls" {
		t.Errorf("units have their certificate from Secret %q", name)
	}
	w.isSteady()
	w.renewsCertificate(issued)
	w.replacesCertManager(c)
	w.turnsToCertManager(c, issued)
}

// renewsCertificate requires that units go on while a certificate is not renewed, and restart with one that is.
func (w *world) renewsCertificate(issued *corev1.Secret) {
	w.t.Helper()
	_, before := w.endpointSecret()
	w.certify("False", "Failed", "the issuer is sealed")
	w.awaitPipelineMessage("CertificateNotReady",
		`Certificate "shop-endpoint-tls" is not ready: Failed: the issuer is sealed; see kubectl describe certificate shop-endpoint-tls, its issuer, and the log of cert-manager`)
	w.awaitCondition(v1alpha1.ConditionReplicasFresh, metav1.ConditionTrue, "Fresh") // units are looked at
	if _, now := w.endpointSecret(); now != before {
		w.t.Error("units restart while there is no other certificate")
	}
	issued.Data = certified(w.t)
	if err := w.Update(w.t.Context(), issued); err != nil {
		w.t.Fatal(err)
	}
	w.certify("True", "Ready", "Certificate is up to date and has not expired")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.eventually(func() error {
		if _, now := w.endpointSecret(); now == before {
			return errors.New("units do not restart with the new certificate")
		}
		return nil
	})
}

// replacesCertManager leaves certManager out: units get the operator's own certificate, and nobody renews the other.
func (w *world) replacesCertManager(c *v1alpha1.HTAPCluster) {
	w.t.Helper()
	w.eventually(func() error {
		if err := w.get("shop", c); err != nil {
			return err
		}
		c.Spec.Gateway.TLS.CertManager = nil
		return w.Update(w.t.Context(), c)
	})
	w.eventually(func() error {
		if name, _ := w.endpointSecret(); name != "shop-tls" {
			return fmt.Errorf("units have their certificate from Secret %q", name)
		}
		if _, err := w.certificate(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Certificate is still there: %v", err)
		}
		return nil
	})
}

// turnsToCertManager requires that units which run keep their certificate until cert-manager has issued another.
func (w *world) turnsToCertManager(c *v1alpha1.HTAPCluster, issued *corev1.Secret) {
	w.t.Helper()
	if err := w.Client.Delete(w.t.Context(), issued); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(func() error {
		if err := w.get("shop", c); err != nil {
			return err
		}
		c.Spec.Gateway.TLS.CertManager = &v1alpha1.CertManagerSpec{IssuerRef: v1alpha1.IssuerReference{Name: "ca"}}
		return w.Update(w.t.Context(), c)
	})
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "CertificateNotReady")
	if name, _ := w.endpointSecret(); name != "shop-tls" {
		w.t.Errorf("units have their certificate from Secret %q, which is not there", name)
	}
	issued.ResourceVersion, issued.UID = "", ""
	w.create(issued)
	w.certify("True", "Ready", "Certificate is up to date and has not expired")
	w.eventually(func() error {
		if name, _ := w.endpointSecret(); name != "shop-endpoint-tls" {
			return fmt.Errorf("units have their certificate from Secret %q", name)
		}
		return nil
	})
}

func TestCluster_leavesACertificateThatIsSomebodyElses(t *testing.T) {
	w := newWorld(t)
	installCertManager(t)
	theirs := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"secretName": "shop-endpoint-tls", "dnsNames": []any{"shop"}, "issuerRef": map[string]any{"name": "ca"},
	}}}
	theirs.SetAPIVersion("cert-manager.io/v1")
	theirs.SetKind("Certificate")
	theirs.SetName("shop-endpoint-tls")
	w.create(theirs)
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-endpoint-tls"}, Type: corev1.SecretTypeTLS,
		Data: certified(t)})
	c, database := external(1)
	c.Spec.Gateway.TLS.SecretRef = &v1alpha1.SecretReference{Name: "shop-endpoint-tls"}
	w.create(database)
	w.create(c)
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.look(2) // units have a Secret of the name that cert-manager's would have
	if _, err := w.certificate(); err != nil {
		t.Errorf("the Certificate was deleted: %v", err)
	}
}
