package custom_test

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// twoVersions are v1, which is stored, and v2, in which spec.a has a default.
const twoVersions = `
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {a: {type: string}, b: {type: string}}}, status: {type: object, properties: {p: {type: string}}}}}}
  - name: v2
    served: true
    storage: false
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {a: {type: string, default: d}, b: {type: string}}}, status: {type: object, properties: {p: {type: string}}}}}}`

func defineVersions(t *testing.T, group, versions string) (v1, v2 string) {
	t.Helper()
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, versions))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	return objectPath(group), strings.Replace(objectPath(group), "/v1/", "/v2/", 1)
}

// TestStatusOfAnotherVersion checks that a write to the status through one version leaves the owners of fields that were applied through
// another version.
func TestStatusOfAnotherVersion(t *testing.T) {
	t.Parallel()
	const group = "statusversions.example.com"
	v1, v2 := defineVersions(t, group, twoVersions)
	shared.must(t, http.StatusCreated, apply, v1+"?fieldManager=m", `{apiVersion: `+group+`/v1, kind: Thing, metadata: {name: o}, spec: {a: "1"}}`)
	patched := shared.must(t, http.StatusOK, merge, v2+"/status?fieldManager=s", `{spec: {a: "9"}, status: {p: "1"}}`)
	if got := fieldsOf(t, patched, "m"); got != `{"f:spec":{"f:a":{}}}` {
		t.Errorf("the manager of the spec owns %s", got)
	}
	if got := fieldsOf(t, patched, "s"); got != `{"f:status":{".":{},"f:p":{}}}` {
		t.Errorf("the manager of the status owns %s", got)
	}
}

// TestReleasedFieldWithDefault checks that the server removes a field that its only manager does not apply any more, although another
// version has a default for it.
func TestReleasedFieldWithDefault(t *testing.T) {
	t.Parallel()
	const group = "released.example.com"
	v1, v2 := defineVersions(t, group, twoVersions)
	object := func(version, spec string) string {
		return `{apiVersion: ` + group + `/` + version + `, kind: Thing, metadata: {name: o}, spec: ` + spec + `}`
	}
	shared.must(t, http.StatusCreated, apply, v1+"?fieldManager=m", object("v1", `{a: "1", b: "1"}`))
	shared.must(t, http.StatusOK, apply, v2+"?fieldManager=n", object("v2", `{b: "1"}`))
	applied := shared.must(t, http.StatusOK, apply, v1+"?fieldManager=m", object("v1", `{b: "1"}`))
	if a, found, _ := unstructured.NestedString(applied.Object, "spec", "a"); found {
		t.Errorf("spec.a is %q, and no manager owns it", a)
	}
}

// TestStatusOfFreeSchema checks that the manager of the status owns nothing else, also if the schema keeps unknown fields.
func TestStatusOfFreeSchema(t *testing.T) {
	t.Parallel()
	const group = "freestatus.example.com"
	path, _ := defineVersions(t, group, `
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group)+"?fieldManager=m",
		`{apiVersion: `+group+`/v1, kind: Thing, metadata: {name: o}, spec: {a: "1"}, other: {x: 1}}`)
	patched := shared.must(t, http.StatusOK, merge, path+"/status?fieldManager=s", `{spec: {a: "9"}, other: {x: 2}, status: {p: "1"}}`)
	if got := fieldsOf(t, patched, "s"); got != `{"f:status":{".":{},"f:p":{}}}` {
		t.Errorf("the manager of the status owns %s", got)
	}
	if got := fieldsOf(t, patched, "m"); got != `{"f:other":{".":{},"f:x":{}},"f:spec":{".":{},"f:a":{}}}` {
		t.Errorf("the manager that created the object owns %s", got)
	}
}

// TestAppliedEmptyMetadata checks that the server does not store empty labels that a client applies, and that the manager keeps them when
// another manager writes.
func TestAppliedEmptyMetadata(t *testing.T) {
	t.Parallel()
	const group = "emptyapplied.example.com"
	define(t, group, `{type: object, properties: {a: {type: string}, b: {type: string}}}`)
	applied := shared.must(t, http.StatusCreated, apply, objectPath(group)+"?fieldManager=m",
		`{apiVersion: `+group+`/v1, kind: Thing, metadata: {name: o, labels: {}, annotations: {}, finalizers: []}, spec: {a: "1"}}`)
	patched := shared.must(t, http.StatusOK, merge, objectPath(group)+"?fieldManager=n", `{spec: {b: "2"}}`)
	for _, obj := range []*unstructured.Unstructured{applied, patched} {
		metadata, _ := obj.Object["metadata"].(map[string]any)
		for _, key := range []string{"labels", "annotations", "finalizers"} {
			if v, found := metadata[key]; found {
				t.Errorf("%s is %v", key, v)
			}
		}
		if got := fieldsOf(t, obj, "m"); got != `{"f:metadata":{"f:annotations":{},"f:labels":{}},"f:spec":{"f:a":{}}}` {
			t.Errorf("the manager owns %s", got)
		}
	}
}

// TestAppliedNull checks that the server refuses to apply a null to a field that is neither nullable nor has a default.
func TestAppliedNull(t *testing.T) {
	t.Parallel()
	const group = "nullapplied.example.com"
	define(t, group, `{type: object, properties: {
		a: {type: string}, n: {type: string, nullable: true}, d: {type: string, default: x}, m: {type: object, additionalProperties: {type: integer}}}}`)
	for name, test := range map[string]struct {
		spec string
		want int
	}{
		"a string":             {`{a: null}`, http.StatusUnprocessableEntity},
		"a value of a map":     {`{m: {k: null}}`, http.StatusUnprocessableEntity},
		"the spec":             {`null`, http.StatusUnprocessableEntity},
		"a nullable field":     {`{n: null}`, http.StatusCreated},
		"a field with default": {`{d: null}`, http.StatusCreated},
	} {
		got, err := shared.do(apply, objectPath(group)+"?fieldManager=m&dryRun=All", `{apiVersion: `+group+`/v1, kind: Thing, metadata: {name: o, labels: null}, spec: `+test.spec+`}`)
		if err != nil || got.code != test.want {
			t.Errorf("%s: %s, %v", name, got.text(), err)
		}
	}
}

// TestFinalizerWarnings checks that the server warns about new finalizers without a domain.
func TestFinalizerWarnings(t *testing.T) {
	t.Parallel()
	const group = "finalizers.example.com"
	define(t, group, `{type: object}`)
	body := `{"apiVersion":"` + group + `/v1","kind":"Thing","metadata":{"name":"o","finalizers":["foo","example.com/a","foregroundDeletion","kubernetes","a.b"]}}`
	created := send(t, request{method: "POST", path: objectsPath(group), body: []byte(body)})
	warnings := strings.Join(created.header.Values("Warning"), "\n")
	for text, want := range map[string]bool{`\"foo\": prefer`: true, `\"a.b\": prefer a domain-qualified finalizer name including`: true, "example.com/a": false, "foreground": false, `"kubernetes\": prefer`: false} {
		if strings.Contains(warnings, text) != want {
			t.Errorf("the warnings contain %q: %v, want %v:\n%s", text, !want, want, warnings)
		}
	}
	patched := send(t, request{method: "PATCH", path: objectPath(group), media: "application/merge-patch+json", body: []byte(`{"metadata":{"labels":{"a":"b"}}}`)})
	if warnings := patched.header.Values("Warning"); len(warnings) > 0 {
		t.Errorf("a write that adds no finalizer: %q", warnings)
	}
	shared.must(t, http.StatusOK, merge, objectPath(group), `{metadata: {finalizers: null}}`)
}

// TestCreateWithNameInPath checks that a create may have the name of its object in the path, and no other.
func TestCreateWithNameInPath(t *testing.T) {
	t.Parallel()
	const group = "pathname.example.com"
	define(t, group, `{type: object}`)
	object := func(name string) string {
		return `{apiVersion: ` + group + `/v1, kind: Thing, metadata: {name: ` + name + `}}`
	}
	shared.must(t, http.StatusBadRequest, "POST", objectPath(group), object("other"))
	shared.must(t, http.StatusCreated, "POST", objectPath(group), object("o"))
	shared.must(t, http.StatusMethodNotAllowed, "POST", objectPath(group)+"/status", object("o"))
}

// TestAppliedDuplicateKeys checks that each duplicate key of an applied configuration has a warning of its own.
func TestAppliedDuplicateKeys(t *testing.T) {
	t.Parallel()
	const group = "duplicates.example.com"
	define(t, group, `{type: object, properties: {a: {type: string}, b: {type: string}}}`)
	body := `{"apiVersion":"` + group + `/v1","kind":"Thing","metadata":{"name":"o"},"spec":{"a":"x","a":"y","b":"1","b":"2"}}`
	applied := send(t, request{method: "PATCH", path: objectPath(group) + "?fieldManager=m", media: "application/apply-patch+yaml", body: []byte(body)})
	if warnings := applied.header.Values("Warning"); len(warnings) != 2 || !strings.Contains(warnings[0], `line 1: key \"a\" already set in map`) {
		t.Errorf("warnings %q", warnings)
	}
}

// TestAnotherUID checks that an update and a patch with the UID of another object are a conflict. In an applied configuration, the UID is a
// field that cannot change.
func TestAnotherUID(t *testing.T) {
	t.Parallel()
	const group = "anotheruid.example.com"
	define(t, group, `{type: object}`)
	object := `{apiVersion: ` + group + `/v1, kind: Thing, metadata: {name: o, uid: u}}`
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), strings.Replace(object, ", uid: u", "", 1))
	shared.must(t, http.StatusConflict, "PUT", objectPath(group), object)
	shared.must(t, http.StatusConflict, merge, objectPath(group), `{metadata: {uid: u}}`)
	shared.must(t, http.StatusConflict, jsonPatch, objectPath(group), `[{op: replace, path: /metadata/uid, value: u}]`)
	shared.must(t, http.StatusUnprocessableEntity, apply, objectPath(group)+"?fieldManager=m", object)
}
