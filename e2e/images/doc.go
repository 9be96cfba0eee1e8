// Package images builds the container images of the tests on Kubernetes, with neither a registry nor a container engine: Freshet's own,
// stand-ins for ClickHouse's and PostgreSQL's that hold the servers of the toolchain, and the one that holds a pod's namespaces.
//
// Invariant: an image's reference names its content. The same sources give the same reference, and an archive
// in the cache is whole from the moment it exists.
package images
