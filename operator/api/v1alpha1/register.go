package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "freshet.io", Version: "v1alpha1"}

// AddToScheme adds the types to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &HTAPCluster{}, &HTAPClusterList{}, &HTAPNodePool{}, &HTAPNodePoolList{}, &HTAPTenant{}, &HTAPTenantList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
