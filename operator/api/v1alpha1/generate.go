package v1alpha1

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0 object crd paths=. output:crd:dir=../../../charts/freshet/crds
//go:generate go run github.com/elastic/crd-ref-docs@v0.3.0 --config=reference.yaml --renderer=markdown --source-path=. --output-path=../../../docs/api.md --log-level=ERROR
