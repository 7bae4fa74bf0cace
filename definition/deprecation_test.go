package definition_test

import (
	"testing"

	"holdfast.dev/holdfast/definition"
)

func TestDeprecationWarning(t *testing.T) {
	crd := read(t, `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: true, storage: false, deprecated: true}
  - {name: v1beta1, served: true, storage: false, deprecated: true, deprecationWarning: use the other}
  - {name: v1beta2, served: true, storage: false}
  - {name: v1, served: true, storage: true}
  - {name: v2, served: false, storage: false}
  - {name: v3, served: true, storage: false, deprecated: true}
`)
	for version, want := range map[string]string{
		"v1alpha1": "example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget",
		"v1beta1":  "use the other",
		"v1":       "",
		"v3":       "example.com/v3 Widget is deprecated",
		"v9":       "",
	} {
		if got := definition.DeprecationWarning(crd, version); got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
	}
}
