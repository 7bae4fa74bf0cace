package requestbody_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/yamltest"
)

var (
	objectTypes = []string{
		"", "application/json", "APPLICATION/JSON;charset=utf-8", "application/json;stream=watch",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml", "application/vnd.kubernetes.protobuf",
		"Application/Vnd.Kubernetes.Protobuf;stream=watch", "application/cbor", "application/cbor-seq",
	}
	otherTypes = []string{"application/x-www-form-urlencoded", "text/plain", "garbage", "a/b/c;;=", "*/*"}
	patchTypes = []string{
		"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
		"application/apply-patch+yaml", "application/apply-patch+cbor", "application/merge-patch+json;charset=utf-8",
	}
	acceptTypes = []string{
		"", "*/*", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Unknown;v=v1;g=meta.k8s.io", "application/json;stream=watch",
		"application/vnd.kubernetes.protobuf;stream=watch", "application/json;stream=other", "application/vnd.kubernetes.protobuf,*/*",
		"text/plain", "garbage", ";;=",
	}
)

// table builds the rows of a table of status codes.
type table struct {
	t    *testing.T
	rows []string
}

// row adds a row with the status code of each endpoint. An endpoint that send does not
// handle has a dash.
func (b *table) row(name string, send func(e endpoint) (call, bool)) {
	b.t.Helper()
	row := ""
	for _, e := range endpoints() {
		r, ok := send(e)
		if !ok {
			row += "   -"
			continue
		}
		code, answer := shared.do(b.t, r)
		row += fmt.Sprintf(" %3d", code)
		if code >= http.StatusInternalServerError {
			b.t.Errorf("%s of %s: %d %s", name, e.name, code, answer)
		}
	}
	b.rows = append(b.rows, strings.TrimSpace(row)+" "+name)
}

// TestMediaTypes sends bodies in all media types to all verbs, and asks for answers in all
// media types. No request causes a panic or an internal error. Requests with side effects
// are dry runs, so every row starts from the same objects.
func TestMediaTypes(t *testing.T) {
	createObjects(t)
	b := &table{t: t}
	for _, form := range forms {
		for _, mediaType := range slices.Concat(objectTypes, otherTypes) {
			if form != "valid" && (strings.Contains(mediaType, ";") || slices.Contains(otherTypes, mediaType)) {
				continue
			}
			b.row(fmt.Sprintf("create %s %q", form, mediaType), func(e endpoint) (call, bool) {
				body := e.body(t, mediaType, form, e.another())
				return call{method: "POST", path: e.collection + "?dryRun=All", contentType: mediaType, body: body}, e.collection != ""
			})
			b.row(fmt.Sprintf("update %s %q", form, mediaType), func(e endpoint) (call, bool) {
				body := e.body(t, mediaType, form, e.text)
				return call{method: "PUT", path: e.object + "?dryRun=All", contentType: mediaType, body: body}, true
			})
		}
	}
	checkTable(t, "bodies", b.rows)

	b = &table{t: t}
	for _, form := range forms {
		for _, mediaType := range slices.Concat(patchTypes, objectTypes, otherTypes) {
			if form != "valid" && !slices.Contains(patchTypes, mediaType) {
				continue
			}
			b.row(fmt.Sprintf("patch %s %q", form, mediaType), func(e endpoint) (call, bool) {
				body := e.body(t, mediaType, form, e.patch(mediaType))
				return call{method: "PATCH", path: e.object + "?dryRun=All&fieldManager=f", contentType: mediaType, body: body}, true
			})
		}
	}
	checkTable(t, "patches", b.rows)

	b = &table{t: t}
	const options = `{apiVersion: v1, kind: DeleteOptions, dryRun: [All]}`
	for _, form := range forms {
		for _, mediaType := range slices.Concat(objectTypes, otherTypes, patchTypes) {
			if form != "valid" && !slices.Contains(objectTypes, mediaType) {
				continue
			}
			for verb, path := range map[string]func(endpoint) string{
				"delete":           func(e endpoint) string { return e.object + "?dryRun=All" },
				"deletecollection": func(e endpoint) string { return e.collection + "?dryRun=All&labelSelector=none" },
			} {
				b.row(fmt.Sprintf("%s %s %q", verb, form, mediaType), func(e endpoint) (call, bool) {
					body := endpoint{message: &metav1.DeleteOptions{}}.body(t, mediaType, form, options)
					return call{method: "DELETE", path: path(e), contentType: mediaType, body: body}, e.collection != ""
				})
			}
		}
	}
	slices.Sort(b.rows)
	checkTable(t, "deletions", b.rows)

	b = &table{t: t}
	for _, accept := range acceptTypes {
		b.row(fmt.Sprintf("get %q", accept), func(e endpoint) (call, bool) { return call{method: "GET", path: e.object, accept: accept}, true })
		b.row(fmt.Sprintf("list %q", accept), func(e endpoint) (call, bool) {
			return call{method: "GET", path: e.collection, accept: accept}, e.collection != ""
		})
		b.row(fmt.Sprintf("watch %q", accept), func(e endpoint) (call, bool) {
			return call{method: "GET", path: e.collection + "?watch=1", accept: accept}, e.collection != ""
		})
		b.row(fmt.Sprintf("create %q", accept), func(e endpoint) (call, bool) {
			return call{method: "POST", path: e.collection + "?dryRun=All", accept: accept, body: e.encode(t, "", e.another())}, e.collection != ""
		})
	}
	checkTable(t, "answers", b.rows)
	if found := recovered.all(); len(found) > 0 {
		t.Errorf("the server recovered from panics: %q", found)
	}
}

func createObjects(t *testing.T) {
	t.Helper()
	create := func(path, text string) {
		data := yamltest.JSON(t, text)
		shared.must(t, http.StatusCreated, call{method: "POST", path: path, body: data})
	}
	for _, e := range endpoints() {
		if e.collection != "" {
			create(e.collection, e.text)
		}
	}
	create("/apis/apps/v1/namespaces/default/deployments", fmt.Sprintf(deploymentText, "media"))
}

// checkTable compares a table with the one in testdata. Its columns are the endpoints. The
// codes are those of Kubernetes, where it has no internal error: 415 for a body in another
// media type, 400 for a malformed one, 406 if the server has no accepted media type.
func checkTable(t *testing.T, name string, rows []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(data)), "\n")
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("%s: status codes (-want +got)\n%s", name, diff)
	}
}
