package custom_test

import (
	"fmt"
	"net/http"
	"testing"
)

// The error for an invalid update names all invalid fields and no others.
func TestRefusedUpdates(t *testing.T) {
	t.Parallel()
	const (
		group = "refused.example.com"
		path  = "/apis/" + group + "/v1/namespaces/default/things"
		spec  = `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}, num: {type: integer, maximum: 5}}}`

		wrongNumber = `spec.num: Invalid value: 9: spec.num in body should be less than or equal to 5`
		wrongOwner  = `metadata.ownerReferences[0].uid: Required value: must not be empty`
	)
	define(t, group, spec)
	object := `{apiVersion: %s/v1, kind: %s, metadata: {name: o, resourceVersion: "%s"}, spec: {a: x, num: %d}}`
	created := shared.must(t, http.StatusCreated, "POST", path, fmt.Sprintf(object, group, "Thing", "", 1))
	put := func(kind string, num int) string {
		return fmt.Sprintf(object, group, kind, created.GetResourceVersion(), num)
	}
	for name, test := range map[string]struct{ method, body, want string }{
		// uid, generation and creationTimestamp may be left out of a manifest.
		"a manifest": {
			"PUT", put("Thing", 9), `422 Thing.refused.example.com "o" is invalid: ` + wrongNumber,
		},
		"metadata and a value": {
			merge, `{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]}, spec: {num: 9}}`,
			`422 Thing.refused.example.com "o" is invalid: [` + wrongOwner + ", " + wrongNumber + "]",
		},
		"the kind comes before values": {
			"PUT", put("Other", 9),
			`400 Thing.refused.example.com "o" cannot be changed this way: kind: field is immutable: changed from "Thing" to "Other"`,
		},
		"an immutable field comes before metadata": {
			merge, `{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]}, spec: {a: w, num: 9}}`,
			`400 Thing.refused.example.com "o" cannot be changed this way: spec.a: field is immutable: changed from "x" to "w"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shared.do(test.method, path+"/o", test.body)
			if err != nil {
				t.Fatal(err)
			}
			if got.text() != test.want {
				t.Errorf("got  %s\nwant %s", got.text(), test.want)
			}
		})
	}
}

// The kind and the apiVersion of an object cannot change, even if its schema has no
// markers.
func TestKindCannotChange(t *testing.T) {
	t.Parallel()
	const group = "unmarked.example.com"
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, `
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", "{}"))
	for body, want := range map[string]string{
		`{kind: Other}`:          `kind: Invalid value: "Other": must be Thing`,
		`{apiVersion: other/v1}`: `apiVersion: Invalid value: "other/v1": must be unmarked.example.com/v1`,
	} {
		got, err := shared.do(merge, objectPath(group), body)
		if err != nil {
			t.Fatal(err)
		}
		if want := `422 Thing.unmarked.example.com "o" is invalid: ` + want; got.text() != want {
			t.Errorf("%s: got  %s\nwant %s", body, got.text(), want)
		}
	}
}
