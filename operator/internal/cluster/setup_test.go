package cluster

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestBackoff_isNoLongerThanAClusterThatIsWellIsLeftAlone(t *testing.T) {
	limiter, failed := backoff(), reconcile.Request{}
	first := limiter.When(failed)
	for range 40 {
		limiter.When(failed)
	}
	if last := limiter.When(failed); last != whenReady || first >= whenNot {
		t.Errorf("a cluster is looked at again after %v at first, and after %v at last, want %v", first, last, whenReady)
	}
}
