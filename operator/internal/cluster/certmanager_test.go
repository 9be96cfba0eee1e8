package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCertificateLack_saysWhatCertManagerSays(t *testing.T) {
	condition := func(kind, status string, seen int64) any {
		return map[string]any{"type": kind, "status": status, "reason": "DoesNotExist", "message": "no Secret", "observedGeneration": seen}
	}
	const unseen, missing = `Certificate "shop" is not ready: cert-manager has not looked at it yet`, `Certificate "shop" is not ready: DoesNotExist: no Secret`
	for name, c := range map[string]struct {
		conditions []any
		want       string
	}{
		"ready":                 {[]any{condition("Issuing", "True", 2), condition("Ready", "True", 2)}, ""},
		"not ready":             {[]any{condition("Issuing", "True", 2), condition("Ready", "False", 2)}, missing},
		"ready before a change": {[]any{condition("Ready", "True", 1)}, unseen},
		"issuing":               {[]any{condition("Issuing", "True", 2)}, unseen},
		"no condition":          {nil, unseen},
		"a condition of nobody": {[]any{"?"}, unseen},
	} {
		live := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{"conditions": c.conditions},
		}}
		got := ""
		if l := certificateLack("shop", live); l != nil {
			got = l.Detail
			if l.Reason != "CertificateNotReady" || l.Remedy == "" {
				t.Errorf("%s: reason %s, remedy %q", name, l.Reason, l.Remedy)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if l := certificateLack("shop", &unstructured.Unstructured{Object: map[string]any{}}); l == nil || l.Detail != unseen {
		t.Errorf("a Certificate that is not there yet: %v", l)
	}
}
