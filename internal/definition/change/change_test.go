package change_test

import (
	"fmt"
	"slices"
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

// ruled returns a definition with the annotation, in which spec has the field a.
func ruled(rules ...string) string {
	return strings.Replace(v1(object("a: {type: string}")), "metadata: {name: widgets.example.com}", "metadata:\n  name: widgets.example.com\n"+
		"  annotations:\n    holdfast.dev/immutability: |\n      "+strings.Join(rules, "\n      "), 1)
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
		"limits that change nothing": {
			v1(object("a: {type: string, pattern: '^[a-zSA-Z]*$'}, b: {type: array, items: {type: string}}")),
			v1(object("a: {type: string, format: unheard-of, minLength: 0, pattern: '^[a-zA-Z]*$'}, b: {type: array, minItems: 0, items: {type: string}}")), nil,
		},
		"enum becomes limits": {
			v1(object("a: {type: string, enum: [ab, abc]}, b: {type: string, enum: [ab, abc]}")),
			v1(object("a: {type: string, minLength: 1, maxLength: 3, pattern: '^a'}, b: {type: string, maxLength: 2}")),
			[]string{
				"error validation .properties[b].maxLength: is new: 2",
				"note validation .properties[a].enum: is gone: \"ab\", \"abc\"",
				"note validation .properties[b].enum: is gone: \"ab\", \"abc\"",
			},
		},
		"format": {
			v1(object("a: {type: string}")), v1(object("a: {type: string, format: ipv4}")),
			[]string{"error validation .properties[a].format: is new: ipv4"},
		},
		"pattern": {
			v1(object("a: {type: string, pattern: '^[a-z]*$'}")), v1(object("a: {type: string, pattern: '^[a-y]*$'}")),
			[]string{"error validation .properties[a].pattern: changed from ^[a-z]*$ to ^[a-y]*$"},
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
		"rule about a field that is new": {
			v1(object("a: {type: integer}")),
			v1("{type: object, properties: {a: {type: integer}, b: {type: integer}}, x-kubernetes-validations: [{rule: '!has(self.b) || self.b > 0'}]}"),
			[]string{
				"note field-added .properties[b]: the field is new",
				"note cel-rule .x-kubernetes-validations: a rule is new: !has(self.b) || self.b > 0",
			},
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

// TestCompareRules checks the changes of rules of the annotation, also those that a schema cannot state.
func TestCompareRules(t *testing.T) {
	const (
		ready, busy = "oldSelf.spec.a == 'ready'", "oldSelf.spec.a == 'busy'"
		field       = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a]"
		annotation  = "metadata.annotations[holdfast.dev/immutability]"
	)
	marked := func(keywords string) string { return v1(object("a: {type: string, " + keywords + "}")) }
	tests := map[string]struct {
		old, updated string
		want         []string // severity, rule, path, message and reason
	}{
		"the keyword and the line": {marked("x-kubernetes-update: [NoUnset, NoModify]"), ruled("set-once spec.a"), nil},
		"the marker and the set":   {marked("x-kubernetes-immutable: true"), marked("x-kubernetes-update: [NoModify, NoSet, NoUnset]"), nil},
		"two lines and one set":    {ruled("no-unset spec.a", "no-modify spec.a"), ruled("set-once spec.a"), nil},
		"two lines with a condition and one set": {
			ruled("no-unset spec.a while "+ready, "no-modify spec.a while "+ready), ruled("set-once spec.a while " + ready), nil,
		},
		"a set loses a constraint": {
			marked("x-kubernetes-immutable: true"), marked("x-kubernetes-update: [NoUnset, NoModify]"),
			[]string{"warning marker-loosened " + field + ": changed from immutable to set-once"},
		},
		"a set gains a constraint": {
			ruled("no-unset spec.a"), ruled("set-once spec.a"), []string{"error marker-tightened " + field + ": changed from no-unset to set-once"},
		},
		"a set loses and gains": {
			ruled("update=NoSet,NoModify spec.a"), ruled("set-once spec.a"),
			[]string{
				"error marker-tightened " + field + ": changed from update=NoSet,NoModify to set-once",
				"warning marker-loosened " + field + ": changed from update=NoSet,NoModify to set-once",
			},
		},
		"unless added": {
			marked("x-kubernetes-immutable: true"), ruled("immutable spec.a unless resize"),
			[]string{"warning marker-loosened " + field + ": changed from immutable to immutable unless resize: " +
				"a user that may resize the object can break the rule from now on"},
		},
		"unless removed": {
			ruled("immutable spec.a unless resize"), marked("x-kubernetes-immutable: true"),
			[]string{"error marker-tightened " + field + ": changed from immutable unless resize to immutable"},
		},
		"while added": {
			ruled("immutable spec.a"), ruled("immutable spec.a while " + ready),
			[]string{"warning marker-loosened " + field + ": changed from immutable to immutable while " + ready +
				": the rule holds only while " + ready},
		},
		"while removed": {
			ruled("immutable spec.a unless resize while " + ready), ruled("immutable spec.a unless resize"),
			[]string{"error marker-tightened " + field + ": changed from immutable unless resize while " + ready + " to immutable unless resize"},
		},
		"another verb": {
			ruled("immutable spec.a unless resize"), ruled("immutable spec.a unless move"),
			[]string{"warning not-comparable " + field + ": changed from immutable unless resize to immutable unless move: " +
				"the verb was resize and is move: other users may have it, so the rule may be weaker"},
		},
		"another condition": {
			ruled("immutable spec.a while " + ready), ruled("immutable spec.a while " + busy),
			[]string{"warning not-comparable " + field + ": changed from immutable while " + ready + " to immutable while " + busy +
				": the condition was " + ready + " and is " + busy + ": they cannot be compared, so the rule may be weaker"},
		},
		"a verb in place of a condition": {
			ruled("immutable spec.a while " + ready), ruled("immutable spec.a unless move"),
			[]string{"warning not-comparable " + field + ": changed from immutable while " + ready + " to immutable unless move: " +
				"a rule with a verb and one with a condition cannot be compared, so the rule may be weaker"},
		},
		"one of several rules removed": {
			ruled("set-once spec.a", "no-set spec.a unless move"), ruled("set-once spec.a"),
			[]string{"warning marker-loosened " + field + ": changed from set-once and no-set unless move to set-once"},
		},
		"a rule that another one contains": {ruled("immutable spec.a", "no-set spec.a unless move"), ruled("immutable spec.a"), nil},
		"a rule above with the same verb": {ruled("immutable spec.a unless move"), ruled("immutable spec unless move"), []string{
			"error marker-tightened spec.versions[0].schema.openAPIV3Schema.properties[spec]: changed from free to immutable unless move",
		}},
		"no-delete added": {
			ruled("immutable spec.a"), ruled("immutable spec.a", "no-delete"),
			[]string{"error marker-tightened " + annotation + ": deletion: changed from free to no-delete"},
		},
		"no-delete removed": {ruled("no-delete"), ruled(""), []string{
			"warning marker-loosened " + annotation + ": deletion: changed from no-delete to free",
		}},
		"no-delete with a verb": {ruled("no-delete"), ruled("no-delete unless scrap"), []string{
			"warning marker-loosened " + annotation + ": deletion: changed from no-delete to no-delete unless scrap: " +
				"a user that may scrap the object can break the rule from now on",
		}},
		"a label": {ruled(`immutable metadata.labels["team"]`), ruled(`no-unset metadata.labels["team"]`), []string{
			"warning marker-loosened " + annotation + ": metadata.labels.team: changed from immutable to no-unset",
		}},
		"a label and all labels": {ruled(`no-unset metadata.labels["team"]`), ruled("immutable metadata.labels"), []string{
			"error marker-tightened " + annotation + ": metadata.labels: changed from free to immutable",
		}},
		"all versions and one": {ruled("set-once spec.a"), ruled("v1: set-once spec.a"), nil},
		"another version": {ruled("set-once spec.a unless move"), ruled("v2: set-once spec.a unless move"), []string{
			"warning marker-loosened " + field + ": changed from set-once unless move to free",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range change.Compare(t.Context(), read(t, test.old), read(t, test.updated)) {
				if c.Rule != "escape-opened" && c.Rule != "update-refused" {
					got = append(got, fmt.Sprintf("%s %s %s: %s: %s", c.Severity, c.Rule, c.Path, c.Message, c.Reason))
				}
			}
			if len(got) != len(test.want) {
				t.Fatalf("changes %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("change %q, want %q", got[i], want)
				}
			}
		})
	}
}

// TestCompareVersions checks that a rule about deletion is one change for all versions, and names the version if it is not.
func TestCompareVersions(t *testing.T) {
	second := "  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}\n"
	old := ruled("set-once spec.a") + second
	for rule, want := range map[string]string{
		"no-delete":     "deletion: changed from free to no-delete",
		"v2: no-delete": "deletion: changed from free to no-delete in version v2",
	} {
		changes := change.Compare(t.Context(), read(t, old), read(t, ruled("set-once spec.a", rule)+second))
		if len(changes) != 1 || changes[0].Message != want {
			t.Errorf("%s: changes %+v", rule, changes)
		}
	}
	refused := change.Compare(t.Context(), read(t, old), read(t, ruled("set-once spec.a", "set-once spec.none")+second))
	if len(refused) != 1 || strings.Contains(refused[0].Message, "in version") {
		t.Errorf("an update that the server refuses: %+v", refused)
	}
}

// TestHitsOfDefaults checks that a default which is gone hits no object that has the field, although the server refuses its value.
func TestHitsOfDefaults(t *testing.T) {
	oldCRD := read(t, versions("v1 {type: object, properties: {n: {type: integer, default: 1}}}"))
	newCRD := read(t, versions("v1 {type: object, properties: {n: {type: string}}}"))
	changes := change.Compare(t.Context(), oldCRD, newCRD)
	hits := compiled(t, oldCRD, newCRD).Hits(t.Context(), changes, []map[string]any{
		yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {n: 2}}"),
	})
	got := map[string]int{}
	for i, c := range changes {
		got[c.Rule] = hits[i]
	}
	if diff := cmp.Diff(map[string]int{"type": 1, "default": 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHitsOfRules checks which objects rules about labels and about deletion hit.
func TestHitsOfRules(t *testing.T) {
	oldCRD, newCRD := read(t, ruled("no-unset spec.a")), read(t, ruled("no-unset spec.a", `immutable metadata.labels["team"]`, "no-delete"))
	changes := change.Compare(t.Context(), oldCRD, newCRD)
	hits := compiled(t, oldCRD, newCRD).Hits(t.Context(), changes, []map[string]any{
		yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, labels: {team: x}}}"),
		yamltest.Map(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: b}}"),
	})
	if !slices.Equal(hits, []int{1, 2}) {
		t.Errorf("hits %v of %+v", hits, changes)
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
	kind := compiled(t, oldCRD, newCRD)
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

func compiled(t *testing.T, oldCRD, newCRD *definition.CustomResourceDefinition) change.Kind {
	t.Helper()
	kind, err := change.Compile(oldCRD, newCRD)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}
