package custom_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestNormalizedFieldsHaveNoOwner writes an empty list that normalization removes, in every way.
func TestNormalizedFieldsHaveNoOwner(t *testing.T) {
	t.Parallel()
	const group = "unowned.example.com"
	define(t, group, `{type: object, properties: {a: {type: string}, list: {type: array, x-kubernetes-normalize: undefined,
		items: {type: string}}, items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
		items: {type: object, required: [k], properties: {k: {type: string}, m: {type: object, x-kubernetes-normalize: undefined}}}}}}`)
	const spec = `{a: x, list: [], items: [{k: one, m: {}}]}`
	for _, test := range []struct{ name, method, body string }{
		{"apply that creates", apply, object(group, "v1", spec)},
		{"apply", apply, object(group, "v1", spec)},
		{"apply of a list", apply, object(group, "v1", `{a: x, list: [s], items: [{k: one}]}`)},
		{"apply of an empty list", apply, object(group, "v1", spec)},
		{"merge patch", merge, `{spec: ` + spec + `}`},
		{"JSON patch", jsonPatch, `[{op: add, path: /spec/list, value: []}]`},
		{"PUT", "PUT", ""},
	} {
		body := test.body
		if test.method == "PUT" {
			body = asYAML(t, shared.must(t, http.StatusOK, "GET", objectPath(group), "").Object)
			body = strings.Replace(body, "  a: x", "  a: x\n  list: []", 1)
		}
		got, err := shared.do(test.method, objectPath(group)+"?fieldManager=m&force=true", body)
		if test.method != apply {
			got, err = shared.do(test.method, objectPath(group)+"?fieldManager=m", body)
		}
		if err != nil || got.code > http.StatusCreated {
			t.Fatalf("%s: %s, %v", test.name, got.text(), err)
		}
		var owned []string
		for _, entry := range got.object.GetManagedFields() {
			owned = append(owned, entry.FieldsV1.GetRawString())
		}
		all := strings.Join(owned, " ")
		if strings.Contains(all, "f:list") != (test.name == "apply of a list") || strings.Contains(all, "f:m") {
			t.Errorf("%s: owned fields %s", test.name, all)
		}
	}
}
