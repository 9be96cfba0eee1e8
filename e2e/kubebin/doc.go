// Package kubebin provides Kubernetes' own programs, and Helm, for tests against a real API server. They are built from source, by
// the modules e2e/kubernetes and e2e/helm, into the cache: Go's own checksums vouch for them, and nothing but Go is needed.
//
// Invariant: what [Ensure] returns was built completely from the versions that the module names now.
package kubebin
