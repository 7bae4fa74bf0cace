package custom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/stock"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/internal/waittest"
)

// harbour is the schema of the objects in TestCompiled. Its names need escaping in CEL.
const harbour = `{type: object, properties: {
  size: {type: string, maxLength: 20, x-kubernetes-immutable: true},
  in: {type: string, maxLength: 20, x-kubernetes-immutable: true},
  home-port: {type: object, properties: {name: {type: string, maxLength: 20, x-kubernetes-immutable: true}}},
  replicas: {type: integer},
  labels: {type: object, maxProperties: 8, x-kubernetes-addition-only: true, additionalProperties: {type: string, maxLength: 20}},
  limits: {type: object, maxProperties: 8, additionalProperties: {type: string, maxLength: 20, x-kubernetes-immutable: true}},
  flags: {type: array, maxItems: 8, x-kubernetes-list-type: set, x-kubernetes-immutable: true, items: {type: string, maxLength: 9}},
  crew: {type: array, maxItems: 8, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [first-name],
    x-kubernetes-deletion-only: true, items: {type: object, required: [first-name], properties: {
      first-name: {type: string, maxLength: 20, x-kubernetes-immutable: true},
      born: {type: integer, x-kubernetes-immutable: true}}}}}}`

const harbourObject = `
apiVersion: %s/v1
kind: Thing
metadata: {name: %s}
spec:
  size: small
  home-port: {name: hull}
  replicas: 1
  labels: {a: x}
  limits: {a: x}
  flags: [b, a]
  crew: [{first-name: ann, born: 1}, {first-name: bob}]
`

// harbourWrites are updates of harbourObject, with the answer of a server with markers, and of
// rules with closed escapes if that differs.
var harbourWrites = map[string]struct {
	patch   string
	refused bool
	escapes bool // refused only if escapes are closed
	subpath string
}{
	"free field":            {patch: `{spec: {replicas: 2}}`},
	"metadata":              {patch: `{metadata: {labels: {a: b}}}`},
	"changed":               {patch: `{spec: {size: large}}`, refused: true},
	"removed":               {patch: `{spec: {size: null}}`, refused: true},
	"set later":             {patch: `{spec: {in: x}}`, refused: true},
	"nested changed":        {patch: `{spec: {home-port: {name: x}}}`, refused: true},
	"parent removed":        {patch: `{spec: {home-port: null}}`, escapes: true},
	"spec removed":          {patch: `{spec: null}`, escapes: true},
	"key added":             {patch: `{spec: {labels: {b: x}}}`},
	"key removed":           {patch: `{spec: {labels: {a: null}}}`, refused: true},
	"map removed":           {patch: `{spec: {labels: null}}`, refused: true},
	"value changed":         {patch: `{spec: {labels: {a: z}}}`},
	"value fixed":           {patch: `{spec: {limits: {a: z}}}`, refused: true},
	"key of values removed": {patch: `{spec: {limits: {a: null, b: x}}}`},
	"set reordered":         {patch: `{spec: {flags: [a, b]}}`},
	"set changed":           {patch: `{spec: {flags: [a, c]}}`, refused: true},
	"item removed":          {patch: `{spec: {crew: [{first-name: bob}]}}`},
	"item added":            {patch: `{spec: {crew: [{first-name: ann, born: 1}, {first-name: bob}, {first-name: cy}]}}`, refused: true},
	"item changed":          {patch: `{spec: {crew: [{first-name: bob, born: 2}, {first-name: ann, born: 1}]}}`, refused: true},
	"items reordered":       {patch: `{spec: {crew: [{first-name: bob}, {first-name: ann, born: 1}]}}`},
	"scale":                 {patch: `{spec: {replicas: 3}}`, subpath: "/scale"},
	"status set":            {patch: `{status: {phase: x}}`, subpath: "/status"},
	"status with its field": {patch: `{status: {fixed: x}}`, subpath: "/status", escapes: true},
}

// TestCompiled sends the same writes to a definition with markers and to the same definition
// compiled for other servers. This server runs CEL rules and policies as Kubernetes does.
func TestCompiled(t *testing.T) {
	variants := map[string]*stock.Options{
		"markers": nil, "cel": {Target: stock.CEL}, "policy": {Target: stock.Policy},
		"cel-closed": {Target: stock.CEL, CloseEscapes: true}, "policy-closed": {Target: stock.Policy, CloseEscapes: true},
	}
	for name, options := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := name + ".compiled.example.com"
			install(t, group, options)
			objects := "/apis/" + group + "/v1/namespaces/default/things"
			shared.must(t, http.StatusCreated, "POST", objects, fmt.Sprintf(harbourObject, group, "probe"))
			attempts := 0
			waittest.Until(t, "the rules are in force", func() bool {
				attempts++
				got, err := shared.do(merge, objects+"/probe", fmt.Sprintf(`{spec: {size: size-%d}}`, attempts))
				return err == nil && got.code >= 400
			})
			for what, write := range harbourWrites {
				path := objects + "/" + strings.ReplaceAll(what, " ", "-")
				shared.must(t, http.StatusCreated, "POST", objects, fmt.Sprintf(harbourObject, group, strings.ReplaceAll(what, " ", "-")))
				got, err := shared.do(merge, path+write.subpath, write.patch)
				if err != nil {
					t.Fatal(err)
				}
				want := write.refused || write.escapes && options != nil && options.CloseEscapes
				if refused := got.code >= 400; refused != want {
					t.Errorf("%s: refused: %t, want %t: %s", what, refused, want, got.text())
				}
			}
		})
	}
}

// install creates the definition of Things with the schema harbour, compiled unless options are
// nil.
func install(t *testing.T, group string, options *stock.Options) {
	t.Helper()
	if options == nil {
		define(t, group, harbour)
		return
	}
	objects, err := manifest.Split("things.yaml", []byte(thing(group, harbour)))[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	result := stock.Compile(t.Context(), objects[0], *options)
	for _, refusal := range result.Refusals {
		t.Errorf("%s: %s", refusal.Path, refusal.Message)
	}
	for _, object := range result.Objects {
		typed := unstructured.Unstructured{Object: object}
		collection := definitions
		switch typed.GetKind() {
		case "CustomResourceDefinition":
			// This server reads the annotation. Here the compiled rules are to refuse, not it.
			unstructured.RemoveNestedField(object, "metadata", "annotations", immutability.Annotation)
		case "ValidatingAdmissionPolicy":
			collection = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
		case "ValidatingAdmissionPolicyBinding":
			collection = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		shared.must(t, http.StatusCreated, "POST", collection+"?fieldValidation=Strict", string(text))
		t.Cleanup(func() { remove(t, collection+"/"+typed.GetName()) })
	}
}
