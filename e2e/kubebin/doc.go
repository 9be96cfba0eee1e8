// Package kubebin provides Kubernetes' own programs for tests against a real API server. They are built from source, by
// the module in e2e/kubernetes, into the cache: Go's own checksums vouch for them, and nothing but Go is needed.
//
// Invariant: what [Ensure] returns was built completely from the versions that e2e/kubernetes names now.
package kubebin
