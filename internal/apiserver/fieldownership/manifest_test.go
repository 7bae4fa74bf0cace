package fieldownership_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// manifest is a file that a user applies.
type manifest struct {
	name   string
	object map[string]any
	// resource is the plural name of the kind, namespaced its scope.
	resource   string
	namespaced bool
	// typ and model describe the kind.
	typ   *ownership.Type
	model *spec.Schema
}

// copied returns a copy with its own object.
func (m *manifest) copied() *manifest {
	out := *m
	out.object = runtime.DeepCopyJSON(m.object)
	return &out
}

func (m *manifest) meta() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: m.object}
}

// collection returns the path of the objects of the kind.
func (m *manifest) collection() string {
	path := "/api/"
	if strings.Contains(m.meta().GetAPIVersion(), "/") {
		path = "/apis/"
	}
	path += m.meta().GetAPIVersion()
	if m.namespaced {
		path += "/namespaces/" + m.meta().GetNamespace()
	}
	return path + "/" + m.resource
}

func (m *manifest) path() string { return m.collection() + "/" + m.meta().GetName() }

// widgetDefinition is a definition with defaults, lists of all types, and a scale.
const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 1}
              paused: {type: boolean}
              note: {type: string, nullable: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              labels: {type: object, additionalProperties: {type: string}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, color: {type: string, default: red}, count: {type: integer}}
`

const widgetManifest = `
apiVersion: example.dev/v1
kind: Widget
metadata: {name: w, namespace: shop, labels: {a: b}}
spec: {size: 2, note: text, free: {a: {b: 1}, list: [1, {c: 2}]}, tags: [s, t], labels: {k: v}, parts: [{name: a, count: 1}, {name: b}]}
`

// unfit are the manifests that a test server does not take: kinds without a collection,
// names that the server reserves.
var unfit = map[string]bool{"Scale": true, "PriorityClass of the system": true}

// isForController says whether a controller of the server writes the object: the rules of an
// aggregated ClusterRole.
func isForController(obj map[string]any) bool {
	_, ok := obj["aggregationRule"]
	return ok
}

// manifests returns a valid manifest for each built-in kind, and some further ones. They
// are those of the tests of package rules.
func manifests(t testing.TB) []*manifest {
	t.Helper()
	var out []*manifest
	types, models := views.New(), models()
	kinds := map[string]native.Kind{}
	for _, kind := range native.Kinds() {
		kinds[kind.Name()] = kind
	}
	valid := validManifests(t)
	for _, name := range slices.Sorted(maps.Keys(valid)) {
		m := &manifest{name: name, object: yamltest.Map(t, valid[name])}
		delete(m.object, "aggregationRule")
		if m.meta().GetUID() != "" {
			// A Job as the server validates it. A file does not have what the server generates.
			unstructured.RemoveNestedField(m.object, "metadata", "uid")
			unstructured.RemoveNestedField(m.object, "spec", "selector")
			unstructured.RemoveNestedField(m.object, "spec", "template", "metadata", "labels")
		}
		kind, ok := kinds[m.meta().GetKind()]
		if !ok || unfit[name] {
			continue
		}
		m.resource, m.namespaced = kind.Resource, kind.Scope == native.Namespaced
		m.typ = types.Of(kind.GroupVersionKind().GroupKind())
		if m.meta().GroupVersionKind() == kind.GroupVersionKind() {
			model := reflect.Zero(reflect.TypeOf(kind.Object).Elem()).Interface().(interface{ OpenAPIModelName() string })
			found := models[model.OpenAPIModelName()]
			m.model = &found.Schema
		}
		out = append(out, m)
	}
	return append(out, widgetOf(t))
}

// widgetOf returns the manifest of a custom resource.
func widgetOf(t testing.TB) *manifest {
	t.Helper()
	m := &manifest{
		name: "Widget", object: yamltest.Map(t, widgetManifest), resource: "widgets", namespaced: true,
		typ: &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped()},
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(widgetDefinition), &crd); err != nil {
		t.Fatal(err)
	}
	m.model = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	m.typ.Default = func(obj map[string]any) (map[string]any, error) {
		out := runtime.DeepCopyJSON(obj)
		setDefaults(out, m.model)
		return out, nil
	}
	return m
}

// setDefaults sets the defaults of a schema in a value.
func setDefaults(v any, s *spec.Schema) {
	switch v := v.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if _, ok := v[name]; !ok && property.Default != nil {
				v[name] = property.Default
			}
			setDefaults(v[name], &property)
		}
	case []any:
		for _, item := range v {
			if s.Items != nil {
				setDefaults(item, s.Items.Schema)
			}
		}
	}
}

// validManifests reads the manifests of the tests of package rules.
func validManifests(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../native/rules/valid_*_test.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	out := map[string]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		addManifests(out, file)
	}
	return out
}

// addManifests adds the strings in the map literals of a file.
func addManifests(out map[string]string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, okKey := pair.Key.(*ast.BasicLit)
		text, okText := pair.Value.(*ast.BasicLit)
		if okKey && okText {
			name, errName := strconv.Unquote(key.Value)
			manifest, err := strconv.Unquote(text.Value)
			if errName == nil && err == nil {
				out[name] = manifest
			}
		}
		return false
	})
}
