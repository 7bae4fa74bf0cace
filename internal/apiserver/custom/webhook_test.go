package custom_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
)

// TestWebhooks checks that changes of a mutating webhook are treated like those of a
// client: types and markers are checked, unknown fields are pruned, defaults are set.
// Validating webhooks see the object that would be stored.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	const group = "hooks.example.com"
	define(t, group, `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}, num: {type: integer, maximum: 9}, `+
		`replicas: {type: integer, x-kubernetes-immutable: true}, d: {type: string, default: z}, l: {type: array, `+
		`items: {type: string}, x-kubernetes-normalize: undefined}, any: {x-kubernetes-preserve-unknown-fields: true}}}`)
	mutating, validating := &admissionHook{}, &admissionHook{}
	register(t, "MutatingWebhookConfiguration", group, mutating)
	register(t, "ValidatingWebhookConfiguration", group, validating)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{a: x, num: 1, replicas: 1}`))

	for name, test := range map[string]struct {
		patch, method, path, body, want string
		// seen is the spec that the validating webhook saw and that is stored.
		seen string
	}{
		"nothing": {
			patch: ``, method: merge, body: `{spec: {num: 2}}`,
			want: "200", seen: `{a: x, num: 2, replicas: 1, d: z}`,
		},
		"an immutable field": {
			patch: `[{"op": "replace", "path": "/spec/a", "value": "hook"}]`, method: merge, body: `{spec: {num: 3}}`,
			want: `400 spec.a: field is immutable: changed from "x" to "hook"`,
		},
		"an immutable field that the client changes and the webhook restores": {
			patch: `[{"op": "replace", "path": "/spec/a", "value": "x"}]`, method: merge, body: `{spec: {a: client, num: 3}}`,
			want: "200", seen: `{a: x, num: 3, replicas: 1, d: z}`,
		},
		"an immutable field in a server-side apply": {
			patch:  `[{"op": "replace", "path": "/spec/a", "value": "hook"}]`,
			method: apply, path: "?fieldManager=m&force=true", body: object(group, "v1", `{num: 3}`),
			want: `400 spec.a: field is immutable: changed from "x" to "hook"`,
		},
		"immutable replicas through the scale": {
			patch: `[{"op": "replace", "path": "/spec/replicas", "value": 5}]`, method: merge, path: "/scale", body: `{spec: {replicas: 1}}`,
			want: `400 spec.replicas: field is immutable: changed from 1 to 5`,
		},
		"an unknown field": {
			patch: `[{"op": "add", "path": "/spec/unknown", "value": {"deep": 1}}]`, method: merge, body: `{spec: {num: 4}}`,
			want: "200", seen: `{a: x, num: 4, replicas: 1, d: z}`,
		},
		"a default that is removed, and an empty list": {
			patch: `[{"op": "remove", "path": "/spec/d"}, {"op": "add", "path": "/spec/l", "value": []}]`, method: merge, body: `{spec: {num: 5}}`,
			want: "200", seen: `{a: x, num: 5, replicas: 1, d: z}`,
		},
		"a wrong type": {
			patch: `[{"op": "replace", "path": "/spec/num", "value": "text"}]`, method: merge, body: `{spec: {num: 6}}`,
			want: "400 spec.num: must be of type integer, not string",
		},
		"a wrong value": {
			patch: `[{"op": "replace", "path": "/spec/num", "value": 10}]`, method: merge, body: `{spec: {num: 6}}`,
			want: "422 spec.num",
		},
		"too many levels": {
			patch:  `[{"op": "add", "path": "/spec/any", "value": ` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}]`,
			method: merge, body: `{spec: {num: 6}}`, want: "400 the object is nested deeper than 128 levels",
		},
		"a field of a new object": {
			patch:  `[{"op": "add", "path": "/spec/a", "value": "hook"}, {"op": "add", "path": "/spec/unknown", "value": 1}]`,
			method: "POST", path: "new", body: strings.Replace(object(group, "v1", `{}`), "name: o", "name: new", 1),
			want: "201", seen: `{a: hook, d: z}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			mutating.set(test.patch)
			validating.set("")
			path, stored := objectPath(group)+test.path, objectPath(group)
			if test.method == "POST" {
				path, stored = objectsPath(group), objectsPath(group)+"/"+test.path
			}
			got, err := shared.do(test.method, path, test.body)
			if err != nil {
				t.Fatal(err)
			}
			code, part, _ := strings.Cut(test.want, " ")
			if !strings.HasPrefix(got.text(), code) || !strings.Contains(got.text(), part) {
				t.Fatalf("want %s\n got %s", test.want, got.text())
			}
			if test.seen == "" {
				// A marker is checked before validating admission.
				if seen := validating.last(); seen != "" {
					t.Errorf("the validating webhook saw %s", seen)
				}
				return
			}
			want := yamltest.Value(t, test.seen)
			seen := yamltest.Map(t, validating.last())
			if diff := cmp.Diff(want, seen["spec"]); diff != "" {
				t.Errorf("the validating webhook saw (-want +got)\n%s", diff)
			}
			mutating.set("")
			if diff := cmp.Diff(want, shared.must(t, 200, "GET", stored, "").Object["spec"]); diff != "" {
				t.Errorf("stored (-want +got)\n%s", diff)
			}
		})
	}
}
