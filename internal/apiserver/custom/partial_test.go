package custom_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tables and lists of metadata have the text that the library gives them. The library encodes
// those with indentation.
func TestPartialLists(t *testing.T) {
	const group = "partial.example.com"
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, `
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Note, type: string, jsonPath: .spec.note}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	path := "/apis/" + group + "/v1/namespaces/default/things"
	for n := range 4 {
		annotation := strings.Repeat(fmt.Sprint("<text> ", n), 6<<10)
		shared.must(t, http.StatusCreated, "POST", path, fmt.Sprintf(`
apiVersion: %s/v1
kind: Thing
metadata: {name: n%d, labels: {is: n%d}, finalizers: [example.com/none], annotations: {long: %q}}
spec: {size: %d, note: "a & b"}
`, group, n, n, annotation, n))
	}
	t.Cleanup(func() {
		for n := range 4 {
			shared.must(t, http.StatusOK, merge, fmt.Sprintf("%s/n%d", path, n), "{metadata: {finalizers: null}}")
		}
	})
	check := func(form, query string) {
		t.Helper()
		accept := "application/json;as=" + form + ";g=meta.k8s.io"
		at := shared.must(t, http.StatusOK, "GET", path+"?limit=1", "").GetResourceVersion()
		path := path + "?resourceVersionMatch=Exact&resourceVersion=" + at + query
		var want bytes.Buffer
		if err := json.Compact(&want, []byte(read(t, path+"&pretty=true", accept, "identity").body)); err != nil {
			t.Fatal(err)
		}
		// The second time, the texts of the metadata are cached.
		for _, encoding := range []string{"identity", "gzip", "gzip", "identity"} {
			got := read(t, path, accept, encoding)
			if diff := cmp.Diff(want.String()+"\n", got.body); diff != "" {
				t.Errorf("%s%s with encoding %s (-want +got):\n%.3000s", form, query, encoding, diff)
			}
			if long := want.Len() > 128<<10; (got.encoding == "gzip") != (long && encoding == "gzip") {
				t.Errorf("%s%s: %d bytes have content encoding %q", form, query, want.Len(), got.encoding)
			}
		}
	}
	queries := []string{"", "&limit=2", "&labelSelector=is%3Dn1", "&labelSelector=none"}
	for range 2 {
		for _, version := range []string{";v=v1", ";v=v1beta1"} {
			for _, query := range queries {
				check("PartialObjectMetadataList"+version, query)
			}
			for _, query := range append(queries, "&includeObject=Metadata", "&includeObject=None", "&includeObject=Object") {
				check("Table"+version, query)
			}
		}
		shared.must(t, http.StatusOK, merge, path+"/n1", "{metadata: {labels: {is: changed}}, spec: {size: 9}}")
	}
}
