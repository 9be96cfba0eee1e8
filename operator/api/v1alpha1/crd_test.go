package v1alpha1_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// crd is a generated definition, with what an API server makes of it.
type crd struct {
	structural *schema.Structural
	schemas    validation.SchemaValidator
	rules      *cel.Validator
}

// loadCRD reads a generated CustomResourceDefinition.
func loadCRD(t *testing.T, file string) crd {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../../manifests/crds", file))
	if err != nil {
		t.Fatal(err)
	}
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(b, &external); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	if errs := schema.ValidateStructural(field.NewPath("schema"), structural); len(errs) > 0 {
		t.Fatalf("%s is not structural: %v", file, errs)
	}
	schemas, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		t.Fatal(err)
	}
	return crd{structural: structural, schemas: schemas, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// object reads a manifest and does to it what an API server does before it validates.
func (c crd) object(t *testing.T, manifest string) map[string]any {
	t.Helper()
	var o map[string]any
	asJSON, err := yaml.YAMLToJSON([]byte(manifest))
	if err == nil {
		err = json.Unmarshal(asJSON, &o) // integers stay integers
	}
	if err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	pruned := pruning.PruneWithOptions(o, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(pruned) > 0 {
		t.Fatalf("the API has no fields %v", pruned)
	}
	defaulting.Default(o, c.structural)
	return o
}

// validate returns what an API server says of an object, or of its update.
func (c crd) validate(t *testing.T, o, old map[string]any) []string {
	t.Helper()
	var errs field.ErrorList
	if old == nil {
		errs = validation.ValidateCustomResource(nil, o, c.schemas)
	} else {
		errs = validation.ValidateCustomResourceUpdate(nil, o, old, c.schemas)
	}
	var before any
	if old != nil {
		before = old
	}
	rules, _ := c.rules.Validate(t.Context(), nil, c.structural, o, before, celconfig.RuntimeCELCostBudget)
	var out []string
	for _, e := range append(errs, rules...) {
		out = append(out, e.Field+": "+e.ErrorBody())
	}
	slices.Sort(out) // fields are visited in any order
	return out
}
