package custom_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The server warns clients of a deprecated version. Its own text names the newest served version
// that is not deprecated, if that version is newer than the deprecated one.
func TestDeprecationWarning(t *testing.T) {
	const group = "deprecation.example.com"
	const schema = "schema: {openAPIV3Schema: {type: object}}"
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, `
  versions:
  - {name: v1alpha1, served: true, storage: false, deprecated: true, `+schema+`}
  - {name: v1beta1, served: true, storage: false, deprecated: true, deprecationWarning: use the other, `+schema+`}
  - {name: v1beta2, served: true, storage: false, `+schema+`}
  - {name: v1, served: true, storage: true, `+schema+`}
  - {name: v2, served: false, storage: false, `+schema+`}
  - {name: v3, served: true, storage: false, deprecated: true, `+schema+`}
`))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	for version, want := range map[string][]string{
		"v1alpha1": {group + "/v1alpha1 Thing is deprecated; use " + group + "/v1 Thing"},
		"v1beta1":  {"use the other"},
		"v1":       nil,
		"v3":       {group + "/v3 Thing is deprecated"},
	} {
		got, err := shared.do("GET", "/apis/"+group+"/"+version+"/namespaces/default/things", "")
		if err != nil || got.code != http.StatusOK {
			t.Fatalf("%s: %s, %v", version, got.text(), err)
		}
		if diff := cmp.Diff(want, got.warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", version, diff)
		}
	}
}
