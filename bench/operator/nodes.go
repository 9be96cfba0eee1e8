package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

const (
	// parallel is how many objects the benchmark writes simultaneously.
	parallel = 8
	// heartbeat is how often a kubelet reports an unchanged node.
	heartbeat = 5 * time.Minute
	// images is how many images a kubelet reports at most.
	images = 50
	// poolLabel says which pool a node is in.
	poolLabel = "example.com/pool"
)

// pools are the two halves of the nodes.
var pools = []string{"oltp", "olap"}

// nodeName is a node's name by its number.
func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// createNodes creates pools and nodes, which say of themselves as much as kubelets do.
func (w *world) createNodes(ctx context.Context) error {
	for _, name := range pools {
		pool := &v1alpha1.HTAPNodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pool.Spec.NodeSelector = map[string]string{poolLabel: name}
		if err := w.client.Create(ctx, pool); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range w.o.Nodes {
		group.Go(func() error { return w.client.Create(ctx, node(i)) })
	}
	return group.Wait()
}

func node(i int) *corev1.Node {
	name := nodeName(i)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			poolLabel: pools[i%len(pools)], corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyRegion: "region-1", corev1.LabelTopologyZone: fmt.Sprint("zone-", i%3), corev1.LabelInstanceTypeStable: "large",
		}},
	}
	n.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	n.Status.Allocatable = n.Status.Capacity
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}, {Type: corev1.NodeHostName, Address: name},
	}
	n.Status.Conditions = conditions(metav1.Now())
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion: "v1.36.3", OSImage: "Debian GNU/Linux 13", ContainerRuntimeVersion: "containerd://2.3.7", OperatingSystem: "linux", Architecture: "amd64",
	}
	for k := range images {
		repository := fmt.Sprintf("registry.example.com/team-%d/service-%d", k%7, k)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("%s@sha256:%064x", repository, i*images+k), fmt.Sprintf("%s:v1.%d", repository, k)},
			SizeBytes: int64(k+1) << 22,
		})
	}
	return n
}

func conditions(now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, Message: "kubelet says so"}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

// beat plays the kubelets' heartbeats until ctx ends.
func (w *world) beat(ctx context.Context) error {
	tick := time.NewTicker(heartbeat / time.Duration(w.o.Nodes))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions(metav1.Now())}})
		if err != nil {
			return err
		}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i % w.o.Nodes)}}
		err = w.client.Status().Patch(ctx, n, client.RawPatch(types.StrategicMergePatchType, patch))
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("play a node's heartbeat: %w", err)
		}
	}
}
