// Package v1alpha1 is the API that users write: HTAPCluster, HTAPTenant for those who use it, and HTAPNodePool for the
// nodes that its pods run on.
//
// Invariants: every field is honoured by the operator; defaults are those of the CRDs generated from these types, and
// nowhere else; what can be known to be wrong from an object alone is refused by its CRD.
//
// +kubebuilder:object:generate=true
// +groupName=freshet.io
package v1alpha1
