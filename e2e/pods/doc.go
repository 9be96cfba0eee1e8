// Package pods proves the operator on running pods. It runs where the cluster's services can be reached: in the network of the bare cluster
// that e2e/cluster makes, or, as command launch starts it, in a pod of any cluster.
package pods
