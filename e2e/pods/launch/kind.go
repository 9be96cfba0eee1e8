package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/freshet-io/freshet/e2e/images"
	"github.com/freshet-io/freshet/e2e/kubebin"
	"github.com/freshet-io/freshet/e2e/pods"
	"github.com/freshet-io/freshet/local/toolchain"
)

const (
	kindName = "freshet-e2e"
	// kindVolumes is where kind's provisioner keeps volumes on a node.
	kindVolumes = "/var/local-path-provisioner"
)

// kindConfig is one node for Kubernetes and two for pods, which share the folder of volumes: a pod that moves finds its volume.
const kindConfig = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
  extraMounts: &volumes [{hostPath: %q, containerPath: ` + kindVolumes + `}]
- role: worker
  extraMounts: *volumes
- role: worker
  extraMounts: *volumes
`

// sharedVolumes tells the provisioner that all nodes have the folder.
const sharedVolumes = `{"data": {"config.json": "{\"nodePathMap\": [], \"sharedFileSystemPath\": \"` + kindVolumes + `\"}"}}`

// kind is a cluster that it made.
type kind struct {
	dir, kubeconfig, program string
}

// startKind makes a cluster with images. The cluster is to be ended.
func startKind(ctx context.Context, cache *toolchain.Cache, all []images.Image) (_ *kind, err error) {
	progress := kubebin.Report(report, time.Now, 10*time.Second)
	programs, err := kubebin.Ensure(ctx, cache, kubebin.Kind, progress)
	if err != nil {
		return nil, err
	}
	tools, err := kubebin.Ensure(ctx, cache, kubebin.Kubectl, progress)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "freshet-kind-")
	if err != nil {
		return nil, err
	}
	k := &kind{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig"), program: filepath.Join(programs, "kind")}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.end())
		}
	}()
	volumes, config := filepath.Join(dir, "volumes"), filepath.Join(dir, "config.yaml")
	if err := os.Mkdir(volumes, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, kindConfig, volumes), 0o600); err != nil {
		return nil, err
	}
	report("kind makes a cluster")
	if err := pods.Command(ctx, k.program, "create", "cluster", "--name", kindName, "--config", config, "--kubeconfig", k.kubeconfig, "--wait", "3m"); err != nil {
		return nil, err
	}
	for _, image := range all {
		report("loading image " + image.Name)
		if err := pods.Command(ctx, k.program, "load", "image-archive", image.Path, "--name", kindName); err != nil {
			return nil, err
		}
	}
	kubectl := filepath.Join(tools, "kubectl")
	for _, args := range []string{
		"patch configmap local-path-config --type merge --patch", "rollout restart deployment local-path-provisioner",
		"rollout status deployment local-path-provisioner --timeout 2m",
	} {
		list := append([]string{"--kubeconfig", k.kubeconfig, "--namespace", "local-path-storage"}, strings.Fields(args)...)
		if strings.HasSuffix(args, "--patch") {
			list = append(list, sharedVolumes)
		}
		if err := pods.Command(ctx, kubectl, list...); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// end deletes the cluster.
func (k *kind) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	// Files of volumes belong to the users of pods: a node may delete them.
	emptied := pods.Command(ctx, "docker", "exec", kindName+"-worker", "find", kindVolumes, "-mindepth", "1", "-delete")
	deleted := pods.Command(ctx, k.program, "delete", "cluster", "--name", kindName, "--kubeconfig", k.kubeconfig)
	removed := os.RemoveAll(k.dir)
	if removed == nil { // so was all in it
		emptied = nil
	}
	return errors.Join(emptied, deleted, removed)
}
