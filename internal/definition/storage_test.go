package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
)

// twoVersions returns a definition with versions v1 and v2, of which one is stored.
func twoVersions(storage, v1, v2 string) string {
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, V1}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, V2}}}}}
`
	text = strings.NewReplacer("V1", v1, "V2", v2).Replace(text)
	return strings.Replace(text, "name: "+storage+", served: true, storage: false", "name: "+storage+", served: true, storage: true", 1)
}

// notServed returns a definition that does not serve a version.
func notServed(version, text string) string {
	return strings.Replace(text, "name: "+version+", served: true", "name: "+version+", served: false", 1)
}

// A version that lacks a protected field cannot be the storage version.
func TestStorageVersionKeepsProtectedFields(t *testing.T) {
	t.Parallel()
	const (
		without = "properties: {color: {type: string}}"
		with    = "properties: {color: {type: string}, size: {type: string, x-kubernetes-immutable: true}}"
		later   = "properties: {color: {type: string}, size: {type: string, x-kubernetes-update: [NoUnset, NoModify]}}"
		open    = "x-kubernetes-preserve-unknown-fields: true"
		says    = "spec.versions[0].storage: Forbidden: version v1 lacks spec.size, which version v2 protects (immutable): " +
			"objects are stored in version v1, so the field would be lost"
	)
	for name, test := range map[string]struct {
		old, updated string
		want         []string
		warns        bool
	}{
		"new":                       {"", twoVersions("v1", without, with), []string{says}, false},
		"new, the other one stored": {"", twoVersions("v2", without, with), nil, false},
		"new, unknown fields kept":  {"", twoVersions("v1", open, with), nil, false},
		"another storage version":   {twoVersions("v2", without, with), twoVersions("v1", without, with), []string{says}, false},
		"another storage version, and the former not served": {
			twoVersions("v2", without, with), notServed("v2", twoVersions("v1", without, with)), []string{says}, false,
		},
		"another storage version, and the former not served before": {
			notServed("v2", twoVersions("v2", without, with)), notServed("v2", twoVersions("v1", without, with)), []string{says}, false,
		},
		"a version that is not in use": {
			notServed("v2", twoVersions("v1", without, with)), notServed("v2", twoVersions("v1", without+", description: x", with)), nil, false,
		},
		"field removed":               {twoVersions("v1", with, with), twoVersions("v1", without, with), []string{says}, false},
		"stored so before":            {twoVersions("v1", without, with), twoVersions("v1", without+", description: x", with), nil, true},
		"stored so, with other rules": {twoVersions("v1", without, later), twoVersions("v1", without, with), []string{says}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := definition.Write{APIVersion: definition.V1}
			if test.old != "" {
				w.Old = read(t, test.old) // stored by a server without this rule
			}
			crd := read(t, test.updated)
			if diff := cmp.Diff(test.want, refusals(t, w, crd)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			warned := strings.Contains(strings.Join(w.Warnings(crd), "\n"), "version v1 lacks spec.size, which version v2 protects")
			if test.want == nil && warned != test.warns {
				t.Errorf("warnings: %q", w.Warnings(crd))
			}
		})
	}
}
