package nodepool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// Labels of Node Feature Discovery, which are there only when they are true.
const (
	featureLabels = "feature.node.kubernetes.io/"
	numaLabel     = featureLabels + "memory-numa"
	rdmaLabel     = featureLabels + "custom-rdma.capable"
)

// What is known of a node's NUMA nodes without their number.
const (
	numaUnknown = "unknown"
	numaSingle  = "single"
	numaSeveral = "several"
)

// most is how many NUMA nodes, sizes of pages and kinds of devices a status has of a node.
const most = 8

// topologyKind is what the topology updater of Node Feature Discovery, and others, write for each node.
var topologyKind = schema.GroupVersionKind{Group: "topology.node.k8s.io", Version: "v1alpha2", Kind: "NodeResourceTopology"}

// topology is a NodeResourceTopology, as far as it is read: what is allocatable, and not what is available, which changes with each pod.
type topology struct {
	TopologyPolicies []string    `json:"topologyPolicies"`
	Attributes       []attribute `json:"attributes"`
	Zones            []zone      `json:"zones"`
}

type attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// zone is a part of a node; of type Node it is a NUMA node.
type zone struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Resources []zoneResource `json:"resources"`
}

type zoneResource struct {
	Name        string            `json:"name"`
	Allocatable resource.Quantity `json:"allocatable"`
}

// topologies returns the NodeResourceTopologies by the names of their nodes; none where the kind is not installed.
func (r *Reconciler) topologies(ctx context.Context) (map[string]topology, error) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(topologyKind.GroupVersion().WithKind(topologyKind.Kind + "List"))
	switch err := r.Reader.List(ctx, &list); {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list NodeResourceTopologies: %w", err)
	}
	all := map[string]topology{}
	for i := range list.Items {
		var t topology
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &t); err != nil {
			return nil, fmt.Errorf("read NodeResourceTopology %q: %w", list.Items[i].GetName(), err)
		}
		all[list.Items[i].GetName()] = t
	}
	return all, nil
}

// describe says what a node is and offers.
func describe(node *corev1.Node, spec *v1alpha1.HTAPNodePoolSpec, topologies map[string]topology) v1alpha1.NodeStatus {
	n := v1alpha1.NodeStatus{
		Name: node.Name, Architecture: node.Status.NodeInfo.Architecture, Zone: node.Labels[corev1.LabelTopologyZone],
		Allocatable: resources(node.Status.Allocatable, spec), NUMA: numaUnknown,
	}
	t, known := topologies[node.Name]
	switch {
	case known:
		t.describe(&n, spec)
	case node.Labels[numaLabel] == "true":
		n.NUMA = numaSeveral
	case slices.ContainsFunc(slices.Collect(maps.Keys(node.Labels)), func(l string) bool { return strings.HasPrefix(l, featureLabels) }):
		n.NUMA = numaSingle
	}
	return n
}

// describe says what NUMA nodes a node has.
func (t topology) describe(n *v1alpha1.NodeStatus, spec *v1alpha1.HTAPNodePoolSpec) {
	count := 0
	for _, z := range t.Zones {
		if z.Type != "Node" {
			continue
		}
		if count++; count > most {
			continue
		}
		list := corev1.ResourceList{}
		for _, r := range z.Resources {
			list[corev1.ResourceName(r.Name)] = r.Allocatable
		}
		n.NUMANodes = append(n.NUMANodes, v1alpha1.NUMANodeStatus{Name: z.Name, Allocatable: resources(list, spec)})
	}
	if count > 0 {
		n.NUMA = strconv.Itoa(count)
	}
	for _, a := range t.Attributes {
		if a.Name == "topologyManagerPolicy" {
			n.TopologyPolicy = a.Value
		}
	}
	if n.TopologyPolicy == "" && len(t.TopologyPolicies) > 0 {
		n.TopologyPolicy = t.TopologyPolicies[0]
	}
}

// resources picks what pools are about.
func resources(list corev1.ResourceList, spec *v1alpha1.HTAPNodePoolSpec) v1alpha1.NodeResources {
	out := v1alpha1.NodeResources{CPU: list[corev1.ResourceCPU], Memory: list[corev1.ResourceMemory]}
	add := func(to *map[string]resource.Quantity, name string, amount resource.Quantity) {
		if *to == nil {
			*to = map[string]resource.Quantity{}
		}
		if len(*to) < most {
			(*to)[name] = amount
		}
	}
	if spec.RDMA != nil {
		if own, ok := list[corev1.ResourceName(spec.RDMA.ResourceName)]; ok {
			add(&out.RDMA, spec.RDMA.ResourceName, own)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if size, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); ok {
			add(&out.HugePages, size, list[name])
		} else if strings.HasPrefix(string(name), "rdma/") {
			add(&out.RDMA, string(name), list[name])
		}
	}
	return out
}
