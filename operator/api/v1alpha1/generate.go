package v1alpha1

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0 object crd paths=. output:crd:dir=../../../charts/freshet/crds
