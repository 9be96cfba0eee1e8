// Package cluster runs a Kubernetes of one or two nodes on a Linux machine without Docker: etcd, the control plane, containerd with
// kubelet and kube-proxy for each node, CoreDNS, and volumes in a folder. It is what the operator's end-to-end tests run on.
//
// Invariant: everything is inside of namespaces of its own (mounts, network, processes), so the machine's network and mounts stay as they
// are, and when the first process of the namespaces ends, however it ends, nothing of the cluster is left running.
package cluster
