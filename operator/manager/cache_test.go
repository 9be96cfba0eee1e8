//go:build kubernetes

package manager

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestManager_keepsNothingOfOthersConfigMapsButWhoseTheyAre(t *testing.T) {
	w := newIdleWorld(t, apiServer)
	o := w.start(w.writes.wrap, func(*ctrl.Options) {})
	large := strings.Repeat("x", 1000)
	w.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{"app": "theirs"}},
		Data:       map[string]string{"large": large}, BinaryData: map[string][]byte{"larger": []byte(large)},
	})
	w.serving()
	cached := func(name string) (c corev1.ConfigMap) {
		w.eventually(func() error {
			return o.manager.GetCache().Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &c)
		})
		return c
	}
	if c := cached("theirs"); len(c.Data)+len(c.BinaryData) > 0 || c.Labels["app"] != "theirs" {
		t.Errorf("somebody else's ConfigMap is kept: %v", fmt.Sprint(c)[:200])
	}
	if c := cached("shop-engine"); c.Data["config.yaml"] == "" {
		t.Error("the operator's own ConfigMap is not kept")
	}
	w.isSteady()
}
