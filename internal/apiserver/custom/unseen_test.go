package custom_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/yamltest"
)

// hiding is a definition whose version v1 has fewer fields than the storage version v2. All
// fields that only v2 has are marked, except for spec.loose.
const hiding = `
  versions:
  - name: v2
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      a: {type: string, x-kubernetes-immutable: true}, b: {type: string}, loose: {type: string},
      replicas: {type: integer},
      only: {type: string, x-kubernetes-immutable: true},
      net: {type: object, properties: {cidr: {type: string, x-kubernetes-immutable: true}, mtu: {type: integer}}},
      disk: {type: object, x-kubernetes-immutable: true, properties: {size: {type: string}, kind: {type: string}}},
      empty: {type: array, x-kubernetes-immutable: true, items: {type: string}},
      mode: {type: string, x-kubernetes-immutable: true},
      ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
        properties: {name: {type: string}, port: {type: integer}, fixed: {type: string, x-kubernetes-immutable: true}}}}}},
      status: {type: object, properties: {phase: {type: string}, replicas: {type: integer},
        fixed: {type: string, x-kubernetes-immutable: true}}}}}}
  - name: v1
    served: true
    storage: false
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      a: {type: string}, b: {type: string}, replicas: {type: integer},
      disk: {type: object, properties: {size: {type: string}}},
      empty: {type: array, x-kubernetes-normalize: undefined, items: {type: string}},
      mode: {type: string, default: fast},
      ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
        properties: {name: {type: string}, port: {type: integer}}}}}},
      status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}}}}
`

const hidden = `{a: x, b: x, loose: x, replicas: 1, only: here, net: {cidr: c, mtu: 1}, disk: {size: s, kind: k}, empty: [],
  ports: [{name: p, port: 1, fixed: f}, {name: q, port: 2, fixed: g}]}`

// TestWritesKeepFieldsOfOtherVersions writes through v1 in every way. The stored object keeps
// the marked fields that v1 does not have.
func TestWritesKeepFieldsOfOtherVersions(t *testing.T) {
	t.Parallel()
	const group = "hiding.example.com"
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, hiding))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	v1, v2 := versionPath(group, "v1"), versionPath(group, "v2")
	for name, test := range map[string]struct {
		method, suffix, body string
		// want is the spec that the write leaves, empty for that of hidden without loose. After 400
		// it is part of the answer.
		want string
	}{
		"label":           {merge, "", `{metadata: {labels: {l: x}}}`, ""},
		"finalizer":       {merge, "", `{metadata: {finalizers: [example.com/f]}}`, ""},
		"JSON patch":      {jsonPatch, "", `[{op: add, path: /metadata/labels, value: {l: x}}]`, ""},
		"apply":           {apply, "?fieldManager=m", object(group, "v1", `{}`), ""},
		"PUT":             {"PUT", "", "", ""},
		"status":          {merge, "/status", `{status: {phase: up}}`, ""},
		"apply of status": {apply, "/status?fieldManager=m", strings.Replace(object(group, "v1", `{}`), "spec: {}", "status: {phase: up}", 1), ""},
		"scale":           {merge, "/scale", `{spec: {replicas: 2}}`, strings.Replace(hidden, "replicas: 1", "replicas: 2", 1)},
		"another field":   {merge, "", `{spec: {b: w}}`, strings.Replace(hidden, "b: x", "b: w", 1)},
		"delete":          {"DELETE", "", "", ""},
		"orphan deletion": {"DELETE", "?propagationPolicy=Orphan", "", ""},
		"an item removed": {merge, "", `{spec: {ports: [{name: q, port: 3}]}}`, withPorts(`{name: q, port: 3, fixed: g}`)},
		"an item replaced": {
			merge, "", `{spec: {ports: [{name: q, port: 2}, {name: r}]}}`,
			withPorts(`{name: q, port: 2, fixed: g}, {name: r}`),
		},
		"a default":        {merge, "", `{spec: {mode: slow}}`, `400 spec.mode: field is immutable: added "slow", which version v2 forbids`},
		"a parent removed": {merge, "", `{spec: {disk: null}}`, `400 spec.disk: field is immutable: removed`},
		"a marked field":   {merge, "", `{spec: {a: w}}`, `400 spec.a: field is immutable: changed from "x" to "w", which version v2 forbids`},
		"part of an object": {
			merge, "", `{spec: {disk: {size: w}}}`,
			`400 spec.disk.size: field is immutable: changed from "s" to "w", which version v2 forbids`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := strings.ReplaceAll(name, " ", "-")
			o = strings.ToLower(o)
			created := strings.Replace(object(group, "v2", hidden), "name: o", "name: "+o+", finalizers: [example.com/keep]", 1)
			shared.must(t, http.StatusCreated, "POST", strings.TrimSuffix(v2, "/o")+"?fieldManager=creator", created)
			path := strings.TrimSuffix(v1, "/o") + "/" + o
			stored := strings.TrimSuffix(v2, "/o") + "/" + o
			shared.must(t, http.StatusOK, merge, stored+"/status", `{status: {fixed: f}}`)
			t.Cleanup(func() {
				shared.must(t, http.StatusOK, merge, path, `{metadata: {finalizers: null}}`)
				_, _ = shared.do("DELETE", path, "")
			})
			body := strings.Replace(test.body, "name: o", "name: "+o, 1)
			if test.method == "PUT" {
				body = asYAML(t, shared.must(t, http.StatusOK, "GET", path, "").Object)
				body = strings.Replace(body, "  name: ", "  labels: {l: x}\n  name: ", 1)
			}
			got, err := shared.do(test.method, path+test.suffix, body)
			if err != nil {
				t.Fatal(err)
			}
			if part, refused := strings.CutPrefix(test.want, "400 "); refused {
				if got.code != http.StatusBadRequest || !strings.Contains(got.text(), part) {
					t.Errorf("got %s, want %s", got.text(), test.want)
				}
				return
			}
			if got.code != http.StatusOK {
				t.Fatal(got.text())
			}
			want := test.want
			if want == "" {
				want = hidden
			}
			checkSpec(t, shared.must(t, http.StatusOK, "GET", stored, ""), strings.Replace(want, "loose: x, ", "", 1))
		})
	}
}

func withPorts(items string) string {
	before, _, _ := strings.Cut(hidden, "ports: ")
	return before + "ports: [" + items + "]}"
}

func asYAML(t *testing.T, object any) string {
	t.Helper()
	data, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkSpec compares the spec of an object, and that the creator still owns the hidden field.
func checkSpec(t *testing.T, obj *unstructured.Unstructured, want string) {
	t.Helper()
	if diff := cmp.Diff(asYAML(t, yamltest.Value(t, want)), asYAML(t, obj.Object["spec"])); diff != "" {
		t.Errorf("stored spec (-want +got):\n%s", diff)
	}
	if fixed, _, _ := unstructured.NestedString(obj.Object, "status", "fixed"); fixed != "f" {
		t.Errorf("status.fixed is %q", fixed)
	}
	if owned := fieldsOf(t, obj, "creator"); !strings.Contains(owned, `"f:only":{}`) {
		t.Errorf("the creator owns %s", owned)
	}
}
