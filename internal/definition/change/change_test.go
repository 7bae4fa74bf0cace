package change_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// head is a definition up to its versions.
const head = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  scope: Namespaced
  versions:
`

// v1 returns a definition with one version, in which spec has the schema.
func v1(spec string) string {
	return head + "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: " +
		spec + "}}}}\n"
}

// object is the schema of an object with properties.
func object(properties string) string { return "{type: object, properties: {" + properties + "}}" }

func TestCompare(t *testing.T) {
	const root = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"
	tests := map[string]struct {
		old, updated string
		want         []string
	}{
		"nothing":       {v1(object("a: {type: string}")), v1(object("a: {type: string}")), nil},
		"field removed": {v1(object("a: {type: string}")), v1(object("")), []string{"error field-removed .properties[a]: the field is gone"}},
		"field removed where unknown ones stay": {
			v1("{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}"),
			v1("{type: object, x-kubernetes-preserve-unknown-fields: true}"),
			[]string{"warning field-removed .properties[a]: the field is gone"},
		},
		"field added": {v1(object("")), v1(object("a: {type: string}")), []string{"note field-added .properties[a]: the field is new"}},
		"field added and required": {
			v1(object("")), v1("{type: object, required: [a], properties: {a: {type: string}}}"),
			[]string{
				"error required .properties[a]: the field is required",
				"note field-added .properties[a]: the field is new",
			},
		},
		"required with a default": {
			v1(object("a: {type: string, default: x}")),
			v1("{type: object, required: [a], properties: {a: {type: string, default: x}}}"),
			[]string{"note required .properties[a]: the field is required"},
		},
		"unknown fields dropped": {
			v1("{type: object, x-kubernetes-preserve-unknown-fields: true}"), v1("{type: object}"),
			[]string{"error pruning : unknown fields are dropped, which were kept before"},
		},
		"map becomes an object": {
			v1("{type: object, additionalProperties: {type: string}}"), v1(object("a: {type: string}")),
			[]string{
				"error pruning : unknown fields are dropped, which were kept before",
				"note field-added .properties[a]: the field is new",
			},
		},
		"type": {
			v1(object("a: {type: string}")), v1(object("a: {type: integer}")),
			[]string{"error type .properties[a].type: changed from string to integer"},
		},
		"wider type": {
			v1(object("a: {type: integer}")), v1(object("a: {type: number}")),
			[]string{"warning type .properties[a].type: changed from integer to number"},
		},
		"limits": {
			v1(object("a: {type: string, maxLength: 10, minLength: 1}")), v1(object("a: {type: string, maxLength: 9}")),
			[]string{
				"error validation .properties[a].maxLength: changed from 10 to 9",
				"note validation .properties[a].minLength: is gone: 1",
			},
		},
		"limits of numbers": {
			v1(object("a: {type: integer, maximum: 10, minimum: 5}")), v1(object("a: {type: integer, maximum: 11, minimum: 6}")),
			[]string{
				"error validation .properties[a].minimum: changed from 5 to 6",
				"note validation .properties[a].maximum: changed from 10 to 11",
			},
		},
		"enum": {
			v1(object("a: {type: string, enum: [x, z]}")), v1(object("a: {type: string, enum: [z, w]}")),
			[]string{
				`error validation .properties[a].enum: no longer accepted: "x"`,
				`note validation .properties[a].enum: newly accepted: "w"`,
			},
		},
		"default": {
			v1(object("a: {type: string, default: x}")), v1(object("a: {type: string, default: z}")),
			[]string{`warning default .properties[a].default: changed from "x" to "z"`},
		},
		"rule": {
			v1(object("a: {type: integer}")),
			v1(object("a: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}")),
			[]string{"error cel-rule .properties[a].x-kubernetes-validations: a rule is new: self > 0"},
		},
		"logic": {
			v1(object("a: {type: integer}")), v1(object("a: {type: integer, not: {enum: [5]}}")),
			[]string{"warning not-comparable .properties[a]: allOf, anyOf, oneOf or not changed"},
		},
		"list type": {
			v1(object("a: {type: array, items: {type: string}}")),
			v1(object("a: {type: array, items: {type: string}, x-kubernetes-list-type: set}")),
			[]string{"error list-type .properties[a].x-kubernetes-list-type: changed from atomic to set"},
		},
		"marker tightened": {
			v1(object("a: {type: string}")), v1(object("a: {type: string, x-kubernetes-immutable: true}")),
			[]string{"error marker-tightened .properties[a]: changed from free to immutable"},
		},
		"marker loosened": {
			v1(object("a: {type: string, x-kubernetes-immutable: true}")), v1(object("a: {type: string}")),
			[]string{"warning marker-loosened .properties[a]: changed from immutable to free"},
		},
		"escape opened": {
			v1("{type: object, required: [p], properties: {p: {type: object, properties: " +
				"{a: {type: string, x-kubernetes-immutable: true}}}}}"),
			v1("{type: object, properties: {p: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}}}"),
			[]string{
				"warning required .properties[p]: the field is no longer required",
				"warning escape-opened .properties[p].properties[a]: " +
					"immutable, but spec.p is optional: it can be removed and then set again with another value",
			},
		},
		"short name": {
			v1("{type: object}"), strings.Replace(v1("{type: object}"), "[wd]", "[]", 1),
			[]string{"warning names spec.names.shortNames: short name wd is gone"},
		},
		"scope": {
			v1("{type: object}"), strings.Replace(v1("{type: object}"), "Namespaced", "Cluster", 1),
			[]string{`error update-refused spec.scope: Invalid value: "Cluster": field is immutable`},
		},
		"stored version removed": {
			v1("{type: object}"), strings.Replace(v1("{type: object}"), "name: v1", "name: v2", 1),
			[]string{
				"error version spec.versions: version v1, in which objects are stored, is gone",
				"warning storage-version spec.versions[0].storage: objects are stored in v2, not in v1",
				"note version spec.versions[0]: version v2 is new",
			},
		},
		"version no longer served": {
			v1("{type: object}"), strings.Replace(v1("{type: object}"), "served: true", "served: false", 1),
			[]string{"error version spec.versions[0].served: version v1 is no longer served"},
		},
		"status subresource": {
			v1("{type: object}"), strings.Replace(v1("{type: object}"), "storage: true", "storage: true, subresources: {status: {}}", 1),
			[]string{"error subresource spec.versions[0].subresources.status: the status subresource is new"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range change.Compare(t.Context(), read(t, test.old), read(t, test.updated)) {
				got = append(got, fmt.Sprintf("%s %s %s: %s", c.Severity, c.Rule, strings.TrimPrefix(c.Path, root), c.Message))
				if c.Reason == "" && c.Severity.String() != "note" {
					t.Errorf("no reason for %s", got[len(got)-1])
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHits(t *testing.T) {
	old := v1("{type: object, properties: {gone: {type: string}, size: {type: string}, " +
		"ports: {type: array, items: {type: object, properties: {port: {type: integer}}}}, " +
		"labels: {type: object, additionalProperties: {type: string}}}}")
	updated := v1("{type: object, properties: {size: {type: string, maxLength: 3, default: s, x-kubernetes-immutable: true}, " +
		"ports: {type: array, items: {type: object, properties: {port: {type: integer, maximum: 99}}}}, " +
		"labels: {type: object, additionalProperties: {type: string, minLength: 1}}}}")
	const objects = `
- {apiVersion: example.com/v1, spec: {gone: x, size: large, ports: [{port: 1}, {port: 100}]}}
- {apiVersion: example.com/v1, spec: {gone: x, size: s, labels: {a.b/c: ""}}}
- {apiVersion: example.com/v1, spec: {ports: [{}], unknown: 1}}
- {apiVersion: example.com/v1}
`
	want := map[string]int{
		"field-removed .gone":       2,
		"validation .size":          1,
		"validation .ports[*].port": 1,
		"validation .labels.*":      1,
		"default .size":             1,
		"marker-tightened .size":    2,
	}
	oldCRD, newCRD := read(t, old), read(t, updated)
	kind := change.Kind{Old: compile(t, oldCRD), New: compile(t, newCRD)}
	changes := change.Compare(t.Context(), oldCRD, newCRD)
	var list []map[string]any
	data := yamltest.JSON(t, objects)
	if err := utiljson.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for i, hits := range kind.Hits(t.Context(), changes, list) {
		got[changes[i].Rule+" "+strings.TrimPrefix(changes[i].Field, "spec")] = hits
	}
	for name, hits := range want {
		if got[name] != hits {
			t.Errorf("%s hits %d objects, want %d (all: %v)", name, got[name], hits, got)
		}
	}
}

func read(t *testing.T, text string) *definition.CustomResourceDefinition {
	t.Helper()
	objects, err := manifest.Split("file.yaml", []byte(text))[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	def, err := source.Decode(objects[0])
	if err != nil {
		t.Fatal(err)
	}
	return def.CustomResourceDefinition
}

func compile(t *testing.T, crd *definition.CustomResourceDefinition) map[string]*definition.Compiled {
	t.Helper()
	versions, err := definition.Compile(crd)
	if err != nil {
		t.Fatal(err)
	}
	return versions
}
