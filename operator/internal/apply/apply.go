package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Owner is the field owner of everything that the operator writes.
const Owner = client.FieldOwner("freshet-operator")

// Applied is the annotation that holds a digest of the object as it was last applied. It tells when a field is no longer wanted, which a
// comparison with the live object alone cannot.
const Applied = "freshet.io/applied"

// Applier applies objects.
type Applier struct{ client client.Client }

// New returns an applier that reads and writes by c.
func New(c client.Client) *Applier { return &Applier{client: c} }

// Controlled applies obj, which is deleted with its controller. It fails where an object of this name has another controller, or none and
// another value of label.
func (a *Applier) Controlled(ctx context.Context, controller client.Object, label string, obj client.Object) error {
	if err := controllerutil.SetControllerReference(controller, obj, a.client.Scheme()); err != nil {
		return fmt.Errorf("own %T %q: %w", obj, obj.GetName(), err)
	}
	return a.apply(ctx, obj, func(live client.Object) bool {
		return metav1.IsControlledBy(live, controller) || metav1.GetControllerOf(live) == nil && live.GetLabels()[label] == obj.GetLabels()[label]
	})
}

// Kept applies obj, which outlives whatever it was made for. It fails where an object of this name has another value of label.
func (a *Applier) Kept(ctx context.Context, label string, obj client.Object) error {
	return a.apply(ctx, obj, func(live client.Object) bool { return live.GetLabels()[label] == obj.GetLabels()[label] })
}

var errNotOurs = errors.New("an object of this name is there and belongs to somebody else; rename the HTAPCluster, or delete the object")

func (a *Applier) apply(ctx context.Context, obj client.Object, ours func(live client.Object) bool) error {
	gvk, err := apiutil.GVKForObject(obj, a.client.Scheme())
	if err != nil {
		return fmt.Errorf("apply %q: %w", obj.GetName(), err)
	}
	describe := func(err error) error {
		return fmt.Errorf("apply %s %s/%s: %w", gvk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	want, err := wanted(obj)
	if err != nil {
		return describe(err)
	}
	want.SetGroupVersionKind(gvk)
	live, err := a.live(ctx, want)
	if err != nil {
		return describe(err)
	}
	if live != nil {
		if !ours(live) {
			return describe(errNotOurs)
		}
		same, err := asWanted(want, live)
		if err != nil {
			return describe(err)
		}
		if same {
			return nil
		}
	}
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), Owner, client.ForceOwnership); err != nil {
		return describe(err)
	}
	return nil
}

// live reads what is there, by the type under which it is cached, which of kinds without one is unstructured; nil: nothing.
func (a *Applier) live(ctx context.Context, want *unstructured.Unstructured) (client.Object, error) {
	fields := &unstructured.Unstructured{}
	fields.SetGroupVersionKind(want.GroupVersionKind())
	live := client.Object(fields)
	typed, err := a.client.Scheme().New(want.GroupVersionKind())
	switch {
	case err == nil:
		live = typed.(client.Object)
	case !runtime.IsNotRegisteredError(err):
		return nil, err
	}
	err = a.client.Get(ctx, client.ObjectKeyFromObject(want), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// wanted turns an object into the fields that are to be owned, with their digest.
func wanted(obj client.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	prune(fields)
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	u := &unstructured.Unstructured{Object: fields}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[Applied] = hex.EncodeToString(digest[:8])
	u.SetAnnotations(annotations)
	return u, nil
}

// prune takes out what the types print although it was not given.
func prune(fields map[string]any) {
	for key, value := range fields {
		switch v := value.(type) {
		case nil:
			delete(fields, key)
		case map[string]any:
			prune(v)
		case []any:
			for _, item := range v {
				if m, ok := item.(map[string]any); ok {
					prune(m)
				}
			}
		}
	}
}

// asWanted says that live has every field of want, and was applied with no other.
func asWanted(want *unstructured.Unstructured, live client.Object) (bool, error) {
	if live.GetAnnotations()[Applied] != want.GetAnnotations()[Applied] {
		return false, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, err
	}
	have := &unstructured.Unstructured{Object: fields}
	have.SetGroupVersionKind(want.GroupVersionKind()) // a cache leaves it out
	return contains(have.Object, want.Object), nil
}

// contains says that have has everything that want has. Lists must be of equal length: an API server adds fields to an item, not items.
func contains(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil // an empty object that is not stored
		}
		for key, value := range w {
			if !contains(h[key], value) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return false
		}
		for i := range w {
			if !contains(h[i], w[i]) {
				return false
			}
		}
		return true
	default:
		return have == want
	}
}
