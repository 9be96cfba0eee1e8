package kubectl

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// kubeconfig is how the user names a Kubernetes cluster, by kubectl's own flags.
type kubeconfig struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

func newKubeconfig() *kubeconfig {
	return &kubeconfig{rules: clientcmd.NewDefaultClientConfigLoadingRules()}
}

func (k *kubeconfig) addFlags(f *pflag.FlagSet) {
	f.StringVar(&k.rules.ExplicitPath, "kubeconfig", "", "path of the kubeconfig file (default: KUBECONFIG, or the one in the home folder)")
	clientcmd.BindOverrideFlags(&k.overrides, f, clientcmd.RecommendedConfigOverrideFlags(""))
}

// load returns the way to the cluster, and the namespace.
func (k *kubeconfig) load() (*rest.Config, string, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(k.rules, &k.overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", remedy(err)
	}
	namespace, _, err := loader.Namespace()
	return config, namespace, remedy(err)
}

// objects reads what the commands are about. Package client of controller-runtime would do so too, and links every type that Kubernetes has into
// the program that gateways run: tens of megabytes.
type objects interface {
	cluster(ctx context.Context, namespace, name string) (*v1alpha1.HTAPCluster, error)
	// clusters of a namespace; empty: of all.
	clusters(ctx context.Context, namespace string) ([]v1alpha1.HTAPCluster, error)
	// units are the pods of a cluster's units.
	units(ctx context.Context, c *v1alpha1.HTAPCluster) ([]corev1.Pod, error)
	secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
}

// apiServer reads from an API server.
type apiServer struct{ freshet, core *rest.RESTClient }

func newAPIServer(config *rest.Config) (*apiServer, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	open := func(path string, group schema.GroupVersion) (*rest.RESTClient, error) {
		c := rest.CopyConfig(config)
		c.APIPath, c.GroupVersion, c.NegotiatedSerializer, c.UserAgent = path, &group, codecs, "kubectl-freshet"
		return rest.RESTClientFor(c)
	}
	core, err := open("/api", corev1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("prepare to ask the API server: %w", err)
	}
	freshet, err := open("/apis", v1alpha1.GroupVersion)
	if err != nil {
		return nil, fmt.Errorf("prepare to ask the API server: %w", err)
	}
	return &apiServer{freshet: freshet, core: core}, nil
}

func (s *apiServer) cluster(ctx context.Context, namespace, name string) (*v1alpha1.HTAPCluster, error) {
	var c v1alpha1.HTAPCluster
	return &c, remedy(s.freshet.Get().Namespace(namespace).Resource("htapclusters").Name(name).Do(ctx).Into(&c))
}

func (s *apiServer) clusters(ctx context.Context, namespace string) ([]v1alpha1.HTAPCluster, error) {
	var list v1alpha1.HTAPClusterList
	err := s.freshet.Get().NamespaceIfScoped(namespace, namespace != "").Resource("htapclusters").Do(ctx).Into(&list)
	return list.Items, remedy(err)
}

func (s *apiServer) units(ctx context.Context, c *v1alpha1.HTAPCluster) ([]corev1.Pod, error) {
	var list corev1.PodList
	selector := labels.SelectorFromSet(manifest.Selector(c)).String()
	err := s.core.Get().Namespace(c.Namespace).Resource("pods").Param("labelSelector", selector).Do(ctx).Into(&list)
	return list.Items, remedy(err)
}

func (s *apiServer) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	return &secret, remedy(s.core.Get().Namespace(namespace).Resource("secrets").Name(name).Do(ctx).Into(&secret))
}
