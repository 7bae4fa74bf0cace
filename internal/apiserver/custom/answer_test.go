package custom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Every answer to GET and LIST is the stored object, whatever was answered before.
func TestAnswersAreCurrent(t *testing.T) {
	const group = "answers.example.com"
	define(t, group, "{type: object, properties: {size: {type: integer}}}")
	path := "/apis/" + group + "/v1/namespaces/default/things"
	sizes := func() string {
		t.Helper()
		var got []string
		for _, item := range listItems(t, path) {
			one := shared.must(t, http.StatusOK, "GET", path+"/"+item.GetName(), "")
			if diff := cmp.Diff(item.Object, one.Object); diff != "" {
				t.Errorf("%s (-listed +got):\n%s", item.GetName(), diff)
			}
			got = append(got, fmt.Sprintf("%s=%v", one.GetName(), sizeIn(one)))
		}
		return strings.Join(got, " ")
	}
	expect := func(want string) {
		t.Helper()
		// The second time, the texts of all objects are cached.
		for range 2 {
			if got := sizes(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	expect("")
	for _, name := range []string{"a", "b"} {
		shared.must(t, http.StatusCreated, "POST", path, sized(group, "name: "+name, 1))
	}
	expect("a=1 b=1")
	shared.must(t, http.StatusOK, merge, path+"/a", "{spec: {size: 2}}")
	expect("a=2 b=1")

	dry := shared.must(t, http.StatusOK, merge, path+"/a?dryRun=All", "{spec: {size: 9}}")
	if got := sizeIn(dry); got != int64(9) {
		t.Errorf("the dry run answered size %v", got)
	}
	expect("a=2 b=1")

	shared.must(t, http.StatusOK, "DELETE", path+"/a", "")
	shared.must(t, http.StatusCreated, "POST", path, sized(group, "name: a", 3))
	expect("a=3 b=1")
}

// A watch that loses an object because the object no longer matches sends the earlier
// content with the resourceVersion of the change. A text that was cached for this
// resourceVersion has the later content.
func TestWatchKeepsEarlierContent(t *testing.T) {
	const group = "leaving.example.com"
	define(t, group, "{type: object, properties: {size: {type: integer}}}")
	path := "/apis/" + group + "/v1/namespaces/default/things"
	startCache(t, path)
	created := shared.must(t, http.StatusCreated, "POST", path, sized(group, "name: a, labels: {in: here}", 1))
	shared.must(t, http.StatusOK, merge, path+"/a", "{metadata: {labels: {in: null}}, spec: {size: 2}}")
	shared.must(t, http.StatusOK, "GET", path+"/a", "")

	events := readEvents(t, path+"?watch=true&labelSelector=in&resourceVersion="+created.GetResourceVersion(), "", 1)
	if text := events[0]; !strings.Contains(text, `"type":"DELETED"`) || !strings.Contains(text, `"size":1`) {
		t.Errorf("events: %s", text)
	}
}

// sized returns a Thing with a size.
func sized(group, metadata string, size int) string {
	return fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {%s}, spec: {size: %d}}", group, metadata, size)
}

func sizeIn(obj *unstructured.Unstructured) any {
	size, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "size")
	return size
}

func listItems(t *testing.T, path string) []unstructured.Unstructured {
	t.Helper()
	list := shared.must(t, http.StatusOK, "GET", path, "")
	got, err := list.ToList()
	if err != nil {
		t.Fatal(err)
	}
	return got.Items
}
