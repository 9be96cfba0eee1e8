package kubectl

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// plugin is what all commands share.
type plugin struct {
	kubeconfig  *kubeconfig
	in          io.Reader
	out, errOut io.Writer
	// forwarder makes the way to pods.
	forwarder func(config *rest.Config, core *rest.RESTClient) forwarder
	// run runs a program of the user's.
	run func(*exec.Cmd) error
}

// NewCommand returns the command kubectl, of which each subcommand is one of the plugin. Its flags are kubectl's: --namespace, --context
// and so on.
func NewCommand() *cobra.Command {
	p := &plugin{
		kubeconfig: newKubeconfig(),
		in:         os.Stdin, out: os.Stdout, errOut: os.Stderr,
		forwarder: newPodForwarder,
		run:       (*exec.Cmd).Run,
	}
	return p.command()
}

func (p *plugin) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl",
		Short: "HTAPClusters on Kubernetes: status, lag, explain, connect, bench",
		Long: `HTAPClusters on Kubernetes. Put a link kubectl-freshet to this program on PATH, and these are commands of kubectl:
kubectl freshet status.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	p.kubeconfig.addFlags(cmd.PersistentFlags())
	cmd.AddCommand(p.statusCommand(), p.lagCommand(), p.explainCommand(), p.connectCommand(), p.benchCommand())
	return cmd
}

// access is a way to one Kubernetes cluster.
type access struct {
	objects
	forwarder forwarder
	namespace string
}

// open finds the cluster that the flags and the kubeconfig name.
func (p *plugin) open() (*access, error) {
	config, namespace, err := p.kubeconfig.load()
	if err != nil {
		return nil, err
	}
	server, err := newAPIServer(config)
	if err != nil {
		return nil, err
	}
	return &access{objects: server, forwarder: p.forwarder(config, server.core), namespace: namespace}, nil
}

// find reads the named HTAPCluster, or all of the namespace; of every namespace where everywhere is set.
func (a *access) find(ctx context.Context, names []string, everywhere bool) ([]v1alpha1.HTAPCluster, error) {
	if len(names) > 0 {
		c, err := a.cluster(ctx, a.namespace, names[0])
		if err != nil {
			return nil, err
		}
		return []v1alpha1.HTAPCluster{*c}, nil
	}
	namespace, where := a.namespace, fmt.Sprintf("namespace %q", a.namespace)
	if everywhere {
		namespace, where = "", "any namespace"
	}
	found, err := a.clusters(ctx, namespace)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no HTAPCluster in %s; look elsewhere with --namespace or --all-namespaces, or create one", where)
	}
	return found, err
}

// terminal says that a person reads the output, who has not asked for it without colours.
func (p *plugin) terminal() bool {
	f, ok := p.out.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
