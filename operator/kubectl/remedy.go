package kubectl

import (
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// ofCluster says that an error of the API server is about an HTAPCluster.
func ofCluster(err error) bool {
	var said apierrors.APIStatus
	return errors.As(err, &said) && said.Status().Details != nil && said.Status().Details.Kind == "htapclusters"
}

// remedy adds what to do about it to an error of the API server, or of the way there.
func remedy(err error) error {
	var unreachable *net.OpError
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse): // there is no such path
		return fmt.Errorf("this Kubernetes cluster knows no HTAPClusters: %w; install Freshet by its chart, or choose another cluster with --context", err)
	case apierrors.IsNotFound(err) && !ofCluster(err):
		return fmt.Errorf("%w; kubectl freshet status says what is missing, and why", err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w; kubectl get htapclusters --all-namespaces lists those that are there", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; ask for a role that allows it (docs/kubectl.md lists what each command needs)", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not take your credentials: %w; log in again, or choose others with --context", err)
	case clientcmd.IsEmptyConfig(err):
		return fmt.Errorf("no Kubernetes cluster is configured: %w; set KUBECONFIG, or give --kubeconfig", err)
	case errors.As(err, &unreachable):
		return fmt.Errorf("the API server cannot be reached: %w; see that it runs, or choose another cluster with --context", err)
	}
	return err
}
