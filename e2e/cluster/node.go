package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func nodeName(number int) string { return fmt.Sprintf("node-%d", number) }

// node is what a node's programs are told.
type node struct {
	Number                 int
	Name, IP, PodCIDR, Dir string
	Socket, Cgroup         string
	DNS, PodsCIDR, Pause   string
	Plugins, Kubeconfig    string
}

// startNodes starts all nodes and waits until they are ready.
func (c *Cluster) startNodes(ctx context.Context) error {
	var nodes errgroup.Group
	for n := 1; n <= c.cfg.Nodes; n++ {
		nodes.Go(func() error {
			if err := c.startNode(ctx, n); err != nil {
				return fmt.Errorf("start %s: %w", nodeName(n), err)
			}
			return nil
		})
	}
	return nodes.Wait()
}

func (c *Cluster) startNode(ctx context.Context, number int) error {
	cni, err := plugins()
	if err != nil {
		return err
	}
	dir := filepath.Join(c.cfg.Dir, nodeName(number))
	n := node{
		Number: number, Name: nodeName(number), IP: nodeIP(number), PodCIDR: podCIDR(number), Dir: dir,
		Socket: filepath.Join(dir, "containerd.sock"), Cgroup: cgroup(c.cfg.Dir) + "/" + nodeName(number),
		DNS: nodeIP(1), PodsCIDR: podsCIDR, Pause: c.cfg.Pause, Plugins: cni,
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "cni"), 0o755), makeCgroup(n.Cgroup)); err != nil {
		return err
	}
	if err := c.startContainerd(ctx, n); err != nil {
		return err
	}
	if err := c.startKubelet(ctx, n); err != nil {
		return err
	}
	return c.startProxy(n)
}

// startOn starts a program in a node's network.
func (c *Cluster) startOn(n node, program, path string, args ...string) error {
	if n.Number > 1 {
		args = append([]string{"--net=/run/netns/" + netns(n.Number), path}, args...)
		path = "nsenter"
	}
	return c.start(program+"-"+n.Name, path, args...)
}

// startContainerd starts the container runtime and gives it the images.
func (c *Cluster) startContainerd(ctx context.Context, n node) error {
	config := filepath.Join(n.Dir, "containerd.toml")
	err := errors.Join(write(config, "containerd.toml", n), write(filepath.Join(n.Dir, "cni", "pods.conflist"), "cni.conflist", n))
	if err != nil {
		return err
	}
	program, err := find("containerd")
	if err != nil {
		return err
	}
	if err := c.startOn(n, "containerd", program, "--config", config); err != nil {
		return err
	}
	ctr := func(ctx context.Context, args ...string) error {
		cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", n.Socket, "--namespace", "k8s.io"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	if err := c.until(ctx, "containerd", func(ctx context.Context) error { return ctr(ctx, "version") }); err != nil {
		return err
	}
	for _, image := range c.cfg.Images {
		if err := ctr(ctx, "images", "import", image); err != nil {
			return fmt.Errorf("import the image %s: %w", image, err)
		}
	}
	return nil
}

func (c *Cluster) startKubelet(ctx context.Context, n node) error {
	kubeconfig, err := c.kubeconfig(nodeUser(n.Number))
	if err != nil {
		return err
	}
	config := filepath.Join(n.Dir, "kubelet.yaml")
	if err := write(config, "kubelet.yaml", n); err != nil {
		return err
	}
	root := filepath.Join(n.Dir, "kubelet")
	err = c.startOn(n, "kubelet", filepath.Join(c.cfg.Programs, "kubelet"), "--config="+config, "--kubeconfig="+kubeconfig,
		"--root-dir="+root, "--cert-dir="+filepath.Join(root, "pki"), "--hostname-override="+n.Name, "--node-ip="+n.IP)
	if err != nil {
		return err
	}
	return c.until(ctx, "the node to be ready", func(ctx context.Context) error {
		object, err := c.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range object.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return errors.New(condition.Message)
			}
		}
		return nil
	})
}

// startProxy makes the node lead connections to services.
func (c *Cluster) startProxy(n node) error {
	var err error
	if n.Kubeconfig, err = c.kubeconfig(proxy); err != nil {
		return err
	}
	config := filepath.Join(n.Dir, "kube-proxy.yaml")
	if err := write(config, "kube-proxy.yaml", n); err != nil {
		return err
	}
	return c.startOn(n, "kube-proxy", filepath.Join(c.cfg.Programs, "kube-proxy"), "--config="+config)
}
