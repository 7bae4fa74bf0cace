package custom_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/yamltest"
)

// step is one request for the object o, or for its definition. do is one of:
//
//	create, put, stale   the object with this spec; stale has an old resourceVersion
//	merge, json, apply   the patch; apply takes a spec
//	status, scale        a merge patch of the subresource
//	schema               the definition, with another schema for spec
//	any of them?Strict   with that fieldValidation
//
// want is the status code of the answer and, after a space, a part of its text. spec is
// the stored spec after the request; empty means that it is not compared.
type step struct{ do, body, want, spec string }

func TestWrites(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schema string
		steps  []step
	}{
		"unknown fields are pruned": {
			schema: `{type: object, properties: {a: {type: string}, m: {type: object, additionalProperties: {type: object, ` +
				`properties: {x: {type: integer}}}}, free: {type: object, x-kubernetes-no-prune: true}, ` +
				`keep: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {in: {type: object, ` +
				`properties: {yy: {type: string}}}}}}}`,
			steps: []step{
				{"create?Strict", `{a: x, b: 1}`, `400 strict decoding error: unknown field "spec.b"`, ""},
				{
					"create", `{a: x, b: 1, m: {k: {x: 1, z: 2}}, free: {q: {r: null}}, keep: {u: 1, in: {yy: s, num: 1}}}`,
					`201 unknown field "spec.b"`, `{a: x, m: {k: {x: 1}}, free: {q: {r: null}}, keep: {u: 1, in: {yy: s}}}`,
				},
				{"merge?Ignore", `{spec: {c: 1}}`, "200", `{a: x, m: {k: {x: 1}}, free: {q: {r: null}}, keep: {u: 1, in: {yy: s}}}`},
				{"merge", `{spec: {c: 1}}`, `200 unknown field "spec.c"`, ""},
				{"json", `[{op: add, path: /spec/c, value: 1}]`, `200 unknown field "spec.c"`, ""},
				{"apply?Strict", `{c: 1}`, `400 .spec.c: field not declared in schema`, ""},
				{"apply", `{a: w, c: 1}`, `200 unknown field "spec.c"`, `{a: w, m: {k: {x: 1}}, free: {q: {r: null}}, keep: {u: 1, in: {yy: s}}}`},
			},
		},
		"a schema that shrinks prunes what is stored": {
			schema: `{type: object, properties: {a: {type: string}, b: {type: string}}}`,
			steps: []step{
				{"create", `{a: x, b: w}`, "201", `{a: x, b: w}`},
				{"schema", `{type: object, properties: {a: {type: string}, d: {type: integer, default: 4}}}`, "200", `{a: x, d: 4}`},
			},
		},
		"nulls of fields that are not nullable are removed": {
			schema: `{type: object, properties: {a: {type: array, items: {type: string}}, num: {type: string, nullable: true}, ` +
				`d: {type: string, default: z}}}`,
			steps: []step{{"create", `{a: null, num: null, d: null}`, "201", `{num: null, d: z}`}},
		},
		"types are checked before everything else": {
			schema: `{type: object, properties: {a: {type: integer}, b: {type: string, x-kubernetes-immutable: true}}}`,
			steps: []step{
				{"create", `{a: x}`, "400 spec.a: must be of type integer, not string", ""},
				{"create", `{a: 1, b: x}`, "201", ""},
				{"put", `{a: x, b: w}`, "400 spec.a: must be of type integer, not string", ""},
				{"apply", `{a: x}`, "400 spec.a: must be of type integer, not string", ""},
				{"stale", `{a: x}`, "400 spec.a: must be of type integer", ""},
			},
		},
		"a stored value of a wrong type does not block a write": {
			schema: `{type: object, properties: {a: {type: integer}, b: {type: string}}}`,
			steps: []step{
				{"create", `{a: 1, b: x}`, "201", ""},
				{"schema", `{type: object, properties: {a: {type: string}, b: {type: string}}}`, "200", ""},
				{"merge", `{metadata: {labels: {x: "1"}}}`, "200", ""},
				{"merge", `{spec: {b: w}}`, "200", `{a: 1, b: w}`},
				{"merge", `{spec: {a: 2}}`, "400 spec.a: must be of type string, not integer", ""},
			},
		},
		"immutable": {
			schema: `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}, ` +
				`o: {type: object, x-kubernetes-immutable: true, properties: {x: {type: integer}}}, b: {type: string}}}`,
			steps: []step{
				{"create", `{a: x, o: {x: 1}}`, "201", ""},
				{"put", `{a: w, o: {x: 1}}`, `400 spec.a: field is immutable: changed from "x" to "w"`, ""},
				{"put", `{o: {x: 1}}`, `400 spec.a: field is immutable: removed "x"`, ""},
				{"merge", `{spec: {o: {x: 2}}}`, "400 spec.o.x: field is immutable: changed from 1 to 2", ""},
				{"json", `[{op: replace, path: /spec/a, value: w}]`, "400 spec.a: field is immutable", ""},
				{"apply", `{a: w}`, "400 spec.a: field is immutable", ""},
				{"merge?dry", `{spec: {a: w}}`, "400 spec.a: field is immutable", ""},
				{"stale", `{a: w, o: {x: 1}}`, "409 the object has been modified", ""},
				{"put", `{a: x, o: {x: 1}, b: new}`, "200", `{a: x, o: {x: 1}, b: new}`},
				{"status", `{status: {fixed: one}}`, "200", ""},
				{"status", `{status: {fixed: two}}`, "400 status.fixed: field is immutable", ""},
			},
		},
		"an immutable field that is unset stays unset": {
			schema: `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}`,
			steps: []step{
				{"create", `{}`, "201", ""},
				{"merge", `{spec: {a: x}}`, `400 spec.a: field is immutable: added "x"`, ""},
			},
		},
		"markers of maps and lists": {
			schema: `{type: object, properties: {keys: {type: object, ` +
				`additionalProperties: {type: string}, x-kubernetes-immutable-keys: true}, ` +
				`grow: {type: array, x-kubernetes-list-type: set, items: {type: string}, x-kubernetes-addition-only: true}, ` +
				`shrink: {type: object, additionalProperties: {type: string}, x-kubernetes-deletion-only: true}}}`,
			steps: []step{
				{"create", `{keys: {a: "1"}, grow: [p], shrink: {k: v}}`, "201", ""},
				{"merge", `{spec: {keys: {a: "2"}, grow: [p, q]}}`, "200", `{keys: {a: "2"}, grow: [p, q], shrink: {k: v}}`},
				{"merge", `{spec: {keys: {b: "1"}}}`, `400 spec.keys.b: field is immutable: immutable keys: added "1"`, ""},
				{"merge", `{spec: {grow: [q]}}`, `400 spec.grow[="p"]: field is immutable: addition only: removed "p"`, ""},
				{"merge", `{spec: {shrink: {z: v}}}`, `400 spec.shrink.z: field is immutable: deletion only: added "v"`, ""},
				{"merge", `{spec: {shrink: {k: null}}}`, "200", `{keys: {a: "2"}, grow: [p, q], shrink: {}}`},
			},
		},
		"an immutable field is reported before wrong values, and alone": {
			schema: `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}, num: {type: integer, maximum: 5}}}`,
			steps: []step{
				{"create", `{a: x, num: 9}`, "422 spec.num", ""},
				{"create", `{a: x, num: 1}`, "201", ""},
				{"merge", `{spec: {a: w, num: 9}}`, `400 spec.a: field is immutable: changed from "x" to "w"`, ""},
				{"merge", `{spec: {num: 9}}`, "422 spec.num", ""},
			},
		},
		"rules, defaults and normalization": {
			schema: `{type: object, x-kubernetes-validations: [{rule: "self.num <= self.max", message: too many}], ` +
				`properties: {num: {type: integer, default: 1}, max: {type: integer, default: 5}, l: {type: array, ` +
				`items: {type: string}, x-kubernetes-normalize: undefined}}}`,
			steps: []step{
				{"create", `{l: []}`, "201", `{num: 1, max: 5}`},
				{"merge", `{spec: {num: 6}}`, "422 too many", ""},
				{"merge", `{spec: {l: [a]}}`, "200", `{num: 1, max: 5, l: [a]}`},
			},
		},
		"scale of immutable replicas": {
			schema: `{type: object, properties: {replicas: {type: integer, x-kubernetes-immutable: true}}}`,
			steps: []step{
				{"create", `{replicas: 1}`, "201", ""},
				{"scale", `{spec: {replicas: 1}}`, "200", ""},
				{"scale", `{spec: {replicas: 2}}`, "400 spec.replicas: field is immutable: changed from 1 to 2", ""},
			},
		},
		"scale": {
			schema: `{type: object, properties: {replicas: {type: integer, maximum: 5}}}`,
			steps: []step{
				{"create", `{replicas: 1}`, "201", ""},
				{"scale", `{spec: {replicas: 3}}`, "200", `{replicas: 3}`},
				{"scale", `{spec: {replicas: 9}}`, "422 spec.replicas", ""},
				{"scale", `{spec: {replicas: -1}}`, "422 spec.replicas", ""},
			},
		},
		"a write to the status does not change the spec": {
			schema: `{type: object, properties: {a: {type: string}}}`,
			steps: []step{
				{"create", `{a: x}`, "201", ""},
				{"status", `{spec: {a: w}, status: {phase: up}}`, "200", `{a: x}`},
				{"status", `{status: {phase: 5}}`, "400 status.phase: must be of type string", ""},
			},
		},
		"an endpoint does not validate the fields that it does not change": {
			schema: `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}, num: {type: integer, maximum: 5}}}`,
			steps: []step{
				{"create", `{a: x, num: 1}`, "201", ""},
				{"status", `{status: {fixed: f, replicas: 1}}`, "200", ""},
				{"status", `{spec: {a: w, num: 9}, status: {phase: up}}`, "200", `{a: x, num: 1}`},
				{"merge", `{spec: {num: 2}, status: {fixed: g, replicas: -1}}`, "200", `{a: x, num: 2}`},
				{"merge", `{spec: {num: 2}, status: {fixed: null}}`, "200", `{a: x, num: 2}`},
				{"status", `{status: {fixed: g}}`, "400 status.fixed: field is immutable", ""},
				{"merge", `{metadata: {labels: {a: "-"}}, spec: {num: 9}}`, "422 metadata.labels: Invalid value", ""},
				{"merge", `{metadata: {labels: {a: "-"}}, spec: {num: 9}}`, "422 spec.num", ""},
				{"merge", `{metadata: {labels: {a: "-"}}, spec: {num: 3}}`, "422 metadata.labels: Invalid value", `{a: x, num: 2}`},
			},
		},
		"a marker that is added later applies from the next write on": {
			schema: `{type: object, properties: {a: {type: string}}}`,
			steps: []step{
				{"create", `{a: x}`, "201", ""},
				{"merge", `{spec: {a: w}}`, "200", ""},
				{"schema", `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}`, "200", ""},
				{"merge", `{spec: {a: z}}`, "400 spec.a: field is immutable", `{a: w}`},
				{"schema", `{type: object, properties: {a: {type: string}}}`, "200 x-kubernetes-immutable", ""},
				{"merge", `{spec: {a: z}}`, "200", `{a: z}`},
			},
		},
		"server-side apply merges by list type": {
			schema: `{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], ` +
				`items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer}}}}, ` +
				`s: {type: array, x-kubernetes-list-type: set, items: {type: string}}, ` +
				`at: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}}}`,
			steps: []step{
				{"create", `{l: [{k: a, v: 1}], s: [a], at: [a]}`, "201", ""},
				{"apply", `{l: [{k: b, v: 2}], s: [b], at: [a]}`, "200", `{l: [{k: a, v: 1}, {k: b, v: 2}], s: [a, b], at: [a]}`},
			},
		},
	}
	n := 0
	for name, test := range tests {
		n++
		group := fmt.Sprintf("w%d.example.com", n)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			define(t, group, test.schema)
			for i, s := range test.steps {
				got := s.run(t, group)
				code, part, _ := strings.Cut(s.want, " ")
				if !strings.HasPrefix(got.text(), code) || !strings.Contains(got.text(), part) {
					t.Fatalf("step %d, %s %s:\nwant %s\n got %s", i, s.do, s.body, s.want, got.text())
				}
				if s.spec == "" {
					continue
				}
				want := yamltest.Value(t, s.spec)
				stored := shared.must(t, 200, "GET", objectPath(group), "")
				if diff := cmp.Diff(want, stored.Object["spec"]); diff != "" {
					t.Fatalf("step %d, %s %s: stored (-want +got)\n%s", i, s.do, s.body, diff)
				}
			}
		})
	}
}

func objectsPath(group string) string { return "/apis/" + group + "/v1/namespaces/default/things" }
func objectPath(group string) string  { return objectsPath(group) + "/o" }

func (s step) run(t *testing.T, group string) answer {
	t.Helper()
	verb, option, _ := strings.Cut(s.do, "?")
	query := ""
	switch option {
	case "":
	case "dry":
		query = "?dryRun=All"
	default:
		query = "?fieldValidation=" + option
	}
	object := fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: o}, spec: %s}", group, s.body)
	var got answer
	var err error
	switch verb {
	case "create":
		got, err = shared.do("POST", objectsPath(group)+query, object)
	case "put", "stale":
		got, err = shared.do("PUT", objectPath(group)+query, s.replacement(t, group))
	case "merge":
		got, err = shared.do(merge, objectPath(group)+query, s.body)
	case "json":
		got, err = shared.do(jsonPatch, objectPath(group)+query, s.body)
	case "apply":
		if query == "" {
			query = "?"
		}
		got, err = shared.do(apply, objectPath(group)+query+"&fieldManager=m&force=true", object)
	case "status", "scale":
		got, err = shared.do(merge, objectPath(group)+"/"+verb+query, s.body)
	case "schema":
		got, err = shared.do(merge, definitions+"/things."+group, s.definition(group))
	default:
		t.Fatalf("unknown step %q", verb)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (s step) replacement(t *testing.T, group string) string {
	t.Helper()
	obj := shared.must(t, 200, "GET", objectPath(group), "")
	spec := yamltest.Value(t, s.body)
	obj.Object["spec"] = spec
	if s.do == "stale" {
		obj.SetResourceVersion("1")
	}
	data, err := json.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (s step) definition(group string) string {
	var crd map[string]any
	_ = yaml.Unmarshal([]byte(thing(group, s.body)), &crd)
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	data, _ := json.Marshal(map[string]any{"spec": map[string]any{"versions": versions}})
	return string(data)
}
