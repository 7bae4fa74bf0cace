package custom_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
)

const text = `{type: object, properties: {a: {type: string}}}`

// TestServedAtOnce creates an object right after its definition, without waiting for a
// condition.
func TestServedAtOnce(t *testing.T) {
	t.Parallel()
	define(t, "soon.example.com", text)
	shared.must(t, http.StatusCreated, "POST", objectsPath("soon.example.com"), object("soon.example.com", "v1", `{a: x}`))
	crd := shared.must(t, 200, "GET", definitions+"/things.soon.example.com", "")
	for kind, want := range map[string]string{
		"NamesAccepted": "True NoConflicts", "Established": "True InitialNamesAccepted", "NonStructuralSchema": "",
	} {
		if got := conditionOf(crd, kind); got != want {
			t.Errorf("condition %s: got %q, want %q", kind, got, want)
		}
	}
}

func object(group, version, spec string) string {
	return fmt.Sprintf("{apiVersion: %s/%s, kind: Thing, metadata: {name: o}, spec: %s}", group, version, spec)
}

func TestNamesConflict(t *testing.T) {
	t.Parallel()
	define(t, "names.example.com", text)
	rename := strings.NewReplacer("name: things.names", "name: others.names", "plural: things", "plural: others")
	other := rename.Replace(thing("names.example.com", text))
	shared.must(t, http.StatusCreated, "POST", definitions, other)
	path := definitions + "/others.names.example.com"
	t.Cleanup(func() { remove(t, path) })
	waittest.Until(t, "the names are taken", func() bool {
		return conditionOf(shared.must(t, 200, "GET", path, ""), "NamesAccepted") == "False ListKindConflict"
	})
	shared.must(t, http.StatusNotFound, "GET", "/apis/names.example.com/v1/namespaces/default/others", "")
	remove(t, definitions+"/things.names.example.com")
	waittest.Until(t, "the kind is free", func() bool {
		return conditionOf(shared.must(t, 200, "GET", path, ""), "Established") == "True InitialNamesAccepted"
	})
	// The controller established this definition, because the other one was deleted. No
	// write of this definition has waited until the server serves it, so the test waits.
	waittest.Until(t, "the freed kind is served", func() bool {
		got, err := shared.do("GET", "/apis/names.example.com/v1/namespaces/default/others", "")
		return err == nil && got.code == http.StatusOK
	})
}

func TestDeletedWithItsObjects(t *testing.T) {
	t.Parallel()
	group := "gone.example.com"
	define(t, group, text)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{a: x}`))
	shared.must(t, 200, merge, objectPath(group), `{metadata: {finalizers: [example.com/wait]}}`)
	shared.must(t, 200, "DELETE", definitions+"?fieldSelector=metadata.name%3Dthings."+group, "")
	shared.must(t, 200, "DELETE", definitions+"/things."+group, "")
	waittest.Until(t, "the object is going", func() bool {
		return shared.must(t, 200, "GET", objectPath(group), "").GetDeletionTimestamp() != nil
	})
	got, err := shared.do("POST", objectsPath(group), strings.Replace(object(group, "v1", `{a: x}`), "name: o", "name: p", 1))
	if err != nil || got.code != http.StatusMethodNotAllowed {
		t.Errorf("create while terminating: %s, %v", got.text(), err)
	}
	shared.must(t, 200, merge, objectPath(group), `{metadata: {finalizers: null}}`)
	waittest.Until(t, "the definition is gone", func() bool {
		got, err := shared.do("GET", definitions+"/things."+group, "")
		return err == nil && got.code == http.StatusNotFound
	})
	for _, path := range []string{objectsPath(group), "/apis/" + group} {
		waittest.Until(t, path+" is gone", func() bool {
			got, err := shared.do("GET", path, "")
			return err == nil && got.code == http.StatusNotFound
		})
	}
	define(t, group, text)
	list := shared.must(t, 200, "GET", objectsPath(group), "")
	if items, _, _ := unstructured.NestedSlice(list.Object, "items"); len(items) > 0 {
		t.Errorf("a new definition finds objects of the old one: %v", items)
	}
}

func TestV1beta1(t *testing.T) {
	t.Parallel()
	const beta = "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"
	for name, test := range map[string]struct{ prune, keeps, after string }{
		"off unless it is asked for": {"", "1", "true"},
		"on":                         {"prune: true", "<nil>", "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			group := "beta.example.com"
			shared.must(t, http.StatusCreated, "POST", beta, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: things.%s}
spec:
  group: %s
  version: v1
  names: {plural: things, kind: Thing}
  validation: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}
  %s`, group, group, test.prune))
			t.Cleanup(func() { remove(t, beta+"/things."+group) })
			obj := shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{a: x, more: 1}`))
			more, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "more")
			if got := fmt.Sprint(more); got != test.keeps {
				t.Errorf("spec.more: got %s, want %s", got, test.keeps)
			}
			crd := shared.must(t, 200, "GET", definitions+"/things."+group, "")
			preserve, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "preserveUnknownFields")
			if got := fmt.Sprint(preserve); got != test.after {
				t.Errorf("spec.preserveUnknownFields in v1: got %s, want %s", got, test.after)
			}
		})
	}
}

func TestMarkersInOpenAPI(t *testing.T) {
	t.Parallel()
	group := "open.example.com"
	define(t, group, `{type: object, properties: {a: {type: string, description: The disk., x-kubernetes-immutable: true}}}`)
	for path, prefix := range map[string][]string{
		"/openapi/v3/apis/" + group + "/v1": {"components", "schemas"},
		"/openapi/v2":                       {"definitions"},
	} {
		document := shared.must(t, 200, "GET", path, "")
		at := append(slices.Clone(prefix), "com.example.open.v1.Thing", "properties", "spec", "properties", "a")
		a, _, err := unstructured.NestedMap(document.Object, at...)
		if err != nil {
			t.Fatal(err)
		}
		if a["x-kubernetes-immutable"] != true || a["description"] != "Immutable. The disk." {
			t.Errorf("%s: %v", path, a)
		}
	}
}

func TestTwoVersions(t *testing.T) {
	t.Parallel()
	group := "two.example.com"
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, `
  versions:
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              a: {type: string, x-kubernetes-immutable: true}
              only: {type: string, x-kubernetes-immutable: true}
              b: {type: string}
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}
`))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	v2 := "/apis/" + group + "/v2/namespaces/default/things"
	shared.must(t, http.StatusCreated, "POST", v2, object(group, "v2", `{a: x, b: x}`))
	for _, test := range []struct{ path, body, want string }{
		{objectPath(group), `{spec: {a: z}}`, `400 spec.a: field is immutable`},
		{objectPath(group), `{spec: {b: z}}`, `200`},
		{v2 + "/o", `{spec: {a: z}}`, `400 spec.a: field is immutable`},
	} {
		got, err := shared.do(merge, test.path, test.body)
		if err != nil {
			t.Fatal(err)
		}
		code, part, _ := strings.Cut(test.want, " ")
		if !strings.HasPrefix(got.text(), code) || !strings.Contains(got.text(), part) {
			t.Errorf("%s %s: got %s, want %s", test.path, test.body, got.text(), test.want)
		}
	}
	remove(t, v2+"/o")
	shared.must(t, http.StatusCreated, "POST", v2, object(group, "v2", `{a: x, only: here}`))
	// v1 does not have the field. A write through v1 keeps it.
	shared.must(t, http.StatusOK, merge, objectPath(group), `{spec: {b: w}}`)
	obj := shared.must(t, http.StatusOK, "GET", v2+"/o", "")
	if got := fmt.Sprint(obj.Object["spec"]); got != "map[a:x b:w only:here]" {
		t.Errorf("spec after a write through v1: %s", got)
	}
}

// TestCausesOfTwoVersions checks that an error lists the immutable fields of all versions,
// and a field that several versions mark only once.
func TestCausesOfTwoVersions(t *testing.T) {
	t.Parallel()
	const group = "both.example.com"
	const schema = `schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}}}}`
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, fmt.Sprintf(`
  versions:
  - {name: v1, served: true, storage: true, %s}
  - {name: v2, served: true, storage: false, %s}
`,
		fmt.Sprintf(schema, `a: {type: string, x-kubernetes-immutable: true}, b: {type: string}`),
		fmt.Sprintf(schema, `a: {type: string, x-kubernetes-immutable: true}, b: {type: string, x-kubernetes-immutable: true}`))))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{a: x, b: x}`))
	for body, want := range map[string]string{
		`{spec: {a: w, b: w}}`: `[spec.a spec.b]`,
		`{spec: {b: w}}`:       `[spec.b]`,
	} {
		for _, version := range []string{"v1", "v2"} {
			answer := shared.must(t, http.StatusBadRequest, merge, versionPath(group, version), body)
			causes, _, _ := unstructured.NestedSlice(answer.Object, "details", "causes")
			var fields []string
			for _, cause := range causes {
				fields = append(fields, fmt.Sprint(cause.(map[string]any)["field"]))
			}
			if got := fmt.Sprint(fields); got != want {
				t.Errorf("%s %s: causes %s, want %s", version, body, got, want)
			}
			// Only v2 marks b, so a refusal through v1 names v2.
			if named := strings.Contains(fmt.Sprint(causes), "which version v2 forbids"); named != (version == "v1") {
				t.Errorf("%s %s: causes %v", version, body, causes)
			}
		}
	}
}
