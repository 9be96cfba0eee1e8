package cluster

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/freshet-io/freshet/operator/internal/apply"
)

func TestReadOnce_asksTheAPIServerOnceForASecret(t *testing.T) {
	reads := 0
	counted := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
		reads++
		return c.Get(ctx, key, obj, options...)
	}}
	there := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "there"}, Data: map[string][]byte{"a": []byte("1")}}
	c := newReadOnce(fake.NewClientBuilder().WithObjects(there).WithInterceptorFuncs(counted).Build())
	read := func(name string) (string, error) {
		var s corev1.Secret
		err := c.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: name}, &s)
		value := string(s.Data["a"])
		if s.Data != nil {
			s.Data["a"] = []byte("somebody else's")
		}
		return value, err
	}
	for range 3 {
		if value, err := read("there"); err != nil || value != "1" {
			t.Errorf("there: %q, %v", value, err)
		}
		if _, err := read("absent"); !apierrors.IsNotFound(err) {
			t.Errorf("absent: %v", err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads of two Secrets", reads)
	}
	changed := applycorev1.Secret("there", "n").WithData(map[string][]byte{"a": []byte("2")})
	if err := c.Apply(t.Context(), changed, apply.Owner, client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	if value, err := read("there"); err != nil || value != "2" {
		t.Errorf("after a change: %q, %v", value, err)
	}
}
