package ownershipcheck_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// document is an OpenAPI document in which the list spec.parts is a map by name.
const document = `{"components":{"schemas":{"Gizmo":{"type":"object",
"x-kubernetes-group-version-kind":[{"group":"example.dev","version":"v1","kind":"Gizmo"}],
"properties":{"spec":{"type":"object","properties":{"parts":{"type":"array",
"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
"items":{"type":"object","properties":{"name":{"type":"string"}}}}}}}}}}}`

var gizmo = schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Gizmo"}

// TestTypes checks that the published schema decides how a list is divided into fields. If
// there is no usable schema, a list is one field.
func TestTypes(t *testing.T) {
	tests := map[string]struct {
		published string
		err       error
		want      string
	}{
		"published":     {published: document},
		"not published": {err: errors.New("404"), want: ".spec.parts"},
		"not JSON":      {published: "<html>", want: ".spec.parts"},
		"null":          {published: "null", want: ".spec.parts"},
		"no such model": {published: `{"components":{"schemas":{"Other":{"type":"object"}}}}`, want: ".spec.parts"},
		"a null model":  {published: `{"components":{"schemas":{"Gizmo":null}}}`, want: ".spec.parts"},
		"a broken model": {
			published: `{"components":{"schemas":{"Gizmo":{"x-kubernetes-group-version-kind":[{"group":"example.dev","version":"v1",` +
				`"kind":"Gizmo"}],"properties":{"spec":{"$ref":"#/components/schemas/Gone"}}}}}}`,
			want: ".spec.parts",
		},
		"a model of another form": {
			published: `{"components":{"schemas":{"Gizmo":{"x-kubernetes-group-version-kind":"Gizmo"}}}}`,
			want:      ".spec.parts",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			requests := 0
			types := ownershipcheck.NewTypes()
			from := ownershipcheck.Schemas{Server: "here", Get: func(path string) ([]byte, error) {
				if requests++; path != "/openapi/v3/apis/example.dev/v1" {
					t.Errorf("requested %s", path)
				}
				return []byte(test.published), test.err
			}}
			typ := types.Of(gizmo, from)
			fields, note := ownership.Owners(typ, yamltest.Map(t, `{"spec":{"parts":[{"name":"a","color":"red"}]}}`), nil, ownership.Commands{})
			if note != "" || len(fields) != 1 || fields[0].Path.String() != ".spec.parts" {
				t.Errorf("for client-side apply: %v, %q", fields, note)
			}
			if got := managedFinding(t, typ); got != test.want {
				t.Errorf("for server-side apply: %q, want %q", got, test.want)
			}
			if types.Of(gizmo, from) != typ || requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// TestDefaults checks that the defaults of a custom resource come from its published schema.
func TestDefaults(t *testing.T) {
	const model = `{"components":{"schemas":{"Gizmo":{"type":"object",
"x-kubernetes-group-version-kind":[{"group":"example.dev","version":"v1","kind":"Gizmo"}],
"properties":{"metadata":{"allOf":[{"$ref":"#/components/schemas/ObjectMeta"}]},
"spec":{"type":"object","properties":{"size":{"type":"integer","default":2},%s
"parts":{"type":"array","items":{"type":"object","properties":{"color":{"type":"string","default":"red"}}}}}}}}}}}`
	for name, test := range map[string]struct{ published, want string }{
		"published": {
			strings.Replace(model, "%s", "", 1), `{"spec":{"size":2,"parts":[{"name":"a","color":"red"}]}}`,
		},
		"of another server": {strings.Replace(model, "%s", `"other":{"$ref":"#/components/schemas/Other"},`, 1), ""},
		"not published":     {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			get := func(string) ([]byte, error) { return []byte(test.published), nil }
			set := ownershipcheck.NewTypes().Of(gizmo, ownershipcheck.Schemas{Get: get}).Default
			if (set != nil) != (test.want != "") {
				t.Fatalf("defaults are known: %v", set != nil)
			}
			if set == nil {
				return
			}
			given := yamltest.Map(t, `{"spec":{"parts":[{"name":"a"}]}}`)
			got, err := set(given)
			if diff := cmp.Diff(yamltest.Map(t, test.want), got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if _, ok := given["spec"].(map[string]any)["size"]; ok {
				t.Error("the given object was changed")
			}
		})
	}
}

// managedFinding returns the findings of a write that changes an item of a list which
// another manager owns by server-side apply. There is none if each item is a field of its
// own.
func managedFinding(t *testing.T, typ *ownership.Type) string {
	t.Helper()
	managers := []metav1.ManagedFieldsEntry{{
		Manager: "ci", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:parts":{}}}`),
	}}
	verdict := ownership.Judge(ownership.Write{
		Type: typ, LiveManagers: managers, Writer: ownership.ParseWriter(ownership.Request{Command: "holdfast patch"}),
		Live: yamltest.Map(t, `{"spec":{"parts":[{"name":"a","color":"red"}]}}`), New: yamltest.Map(t, `{"spec":{"parts":[{"name":"a","color":"blue"}]}}`),
	}, nil)
	var paths []string
	for _, finding := range verdict.Findings {
		paths = append(paths, finding.Path.String())
	}
	return strings.Join(paths, " ")
}
