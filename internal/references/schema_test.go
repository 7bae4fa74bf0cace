package references_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/openapi"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/value"
)

// occurrence is a place in the objects of a kind that is named like a reference.
type occurrence struct {
	// resource is empty if the field is in no stored object.
	resource string
	path     *value.Path
	covered  bool
}

// walk finds the fields of the published schema that are named like references. They are grouped by the type that has the field, because the
// spec of a pod is in many kinds.
type walk struct {
	definitions map[string]common.OpenAPIDefinition
	found       map[string][]occurrence
	resource    schema.GroupResource
	places      []*value.Path
	above       []string
}

func (w *walk) visit(name string, at *value.Path) {
	definition, ok := w.definitions[name]
	if !ok || slices.Contains(w.above, name) {
		return
	}
	w.above = append(w.above, name)
	defer func() { w.above = w.above[:len(w.above)-1] }()
	for _, property := range slices.Sorted(maps.Keys(definition.Schema.Properties)) {
		schema := definition.Schema.Properties[property]
		inner, place := typeOf(schema, at.Child(property))
		if namedLikeReference(property, inner) {
			key := short(name) + "." + property
			w.found[key] = append(w.found[key], occurrence{w.resource.String(), place, w.covers(place)})
		}
		w.visit(inner, place)
	}
}

// covers reports whether a rule is about a place, or about one inside of it.
func (w *walk) covers(place *value.Path) bool {
	return slices.ContainsFunc(w.places, func(rule *value.Path) bool {
		for ; rule.Len() > place.Len(); rule = rule.Parent() {
		}
		return rule.Equal(place)
	})
}

// typeOf returns the type of a value, of its items if it is a list, and of its values if it is a map.
func typeOf(schema spec.Schema, at *value.Path) (string, *value.Path) {
	for {
		switch {
		case schema.Items != nil:
			schema, at = *schema.Items.Schema, at.Append(value.Step{Kind: value.AnyItem})
		case schema.AdditionalProperties != nil:
			schema, at = *schema.AdditionalProperties.Schema, at.Append(value.Step{Kind: value.AnyName})
		case len(schema.AllOf) == 1:
			schema = schema.AllOf[0]
		default:
			return path.Base(schema.Ref.String()), at
		}
	}
}

func namedLikeReference(property, inner string) bool {
	lower := strings.ToLower(property)
	for _, end := range []string{"Ref", "Refs", "Reference", "References"} {
		if strings.HasSuffix(property, end) || strings.HasSuffix(inner, end) {
			return true
		}
	}
	return strings.Contains(lower, "secret") || strings.Contains(lower, "configmap")
}

// short returns the name of a type with its API group: core/v1 PodSpec.
func short(name string) string {
	parts := strings.Split(name, ".")
	group, version, kind := parts[len(parts)-3], parts[len(parts)-2], parts[len(parts)-1]
	return group + "/" + version + " " + kind
}

// referenceFields returns the fields of all published types that are named like references, by their type and name.
func referenceFields() map[string][]occurrence {
	w := walk{found: map[string][]occurrence{}}
	ref := func(name string) spec.Ref { return spec.MustCreateRef("#/" + name) }
	w.definitions = apiextensions.GetOpenAPIDefinitions(ref)
	maps.Copy(w.definitions, openapi.GetOpenAPIDefinitions(ref))
	type named interface{ OpenAPIModelName() string }
	visit := func(resource schema.GroupResource, object named) {
		w.resource, w.places = resource, nil
		if rules, ok := references.BuiltIn(w.resource); ok {
			w.places = rules.Places()
		}
		w.visit(object.OpenAPIModelName(), nil)
	}
	for _, kind := range native.Kinds() {
		visit(kind.GroupResource(), kind.Object.(named))
	}
	visit(apiextensionsv1.Resource("customresourcedefinitions"), apiextensionsv1.CustomResourceDefinition{})
	// The other types are those of requests and answers.
	for name, definition := range w.definitions {
		for property, schema := range definition.Schema.Properties {
			inner, _ := typeOf(schema, nil)
			if key := short(name) + "." + property; namedLikeReference(property, inner) && w.found[key] == nil {
				w.found[key] = []occurrence{{}}
			}
		}
	}
	return w.found
}

// The page lists each field of the published schema that is named like a reference, and says of each that the server finds it, or why not. A new
// version of Kubernetes with a new field of this kind fails here.
func TestSchema(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/series-references.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{} // rows without the last cell, and that cell
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 3 {
			documented[cells[0]+" | "+cells[1]] = strings.TrimSuffix(cells[2], " |")
		}
	}
	for key, all := range referenceFields() {
		row := fmt.Sprintf("| `%s` | `%s` in %s", key, all[0].path, all[0].resource)
		if all[0].resource == "" {
			row = fmt.Sprintf("| `%s` | in no stored object", key)
		}
		switch found, listed := documented[row]; {
		case !listed:
			t.Errorf("docs/series-references.md has no row %s | yes | (or: no, because ...)", row)
		case (found == "yes") != all[0].covered, found != "yes" && !strings.HasPrefix(found, "no: "):
			t.Errorf("%s: the page says %q, and a rule finds it: %v", row, found, all[0].covered)
		}
		delete(documented, row)
		for _, one := range all {
			if one.covered != all[0].covered {
				t.Errorf("%s: a rule finds %s of %s, and none finds %s of %s", key, all[0].path, all[0].resource, one.path, one.resource)
			}
		}
	}
	for row := range documented {
		if strings.HasPrefix(row, "| `") {
			t.Errorf("the row %s names no field", row)
		}
	}
}

// The page lists each rule for a place that has no name like a reference, or that is not in the schema of Kubernetes.
func TestOtherPlaces(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/series-references.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, all := range referenceFields() {
		for _, one := range all {
			shown[one.resource+" "+one.path.String()] = true
		}
	}
	for _, resource := range references.BuiltInResources() {
		rules, _ := references.BuiltIn(resource)
		for _, place := range rules.Places() {
			covered := false
			for above := place; above != nil; above = above.Parent() {
				covered = covered || shown[resource.String()+" "+above.String()]
			}
			isNamespace := strings.HasSuffix(place.Last().Name, "namespace") // it is beside the name
			if line := fmt.Sprintf("%s %s\n", resource, place); !covered && !isNamespace && !strings.Contains(string(page), line) {
				t.Errorf("docs/series-references.md has no line %s", line)
			}
		}
	}
}
