package custom_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Events have the text that encoding/json gives them, in every form and for every type of event.
func TestEvents(t *testing.T) {
	const group = "events.example.com"
	define(t, group, "{type: object, properties: {note: {type: string}}}")
	path := "/apis/" + group + "/v1/namespaces/default/things"
	startCache(t, path)
	created := shared.must(t, http.StatusCreated, "POST", path, noted(group, 1, `<&> "one" äöü`))
	shared.must(t, http.StatusOK, merge, path+"/n1", "{spec: {note: two}}")
	changed := read(t, path+"/n1", "", "identity").body
	watch := func(query, accept string, count int) []string {
		t.Helper()
		events := readEvents(t, path+"?watch=true&"+query, accept, count)
		for _, line := range events {
			var event metav1.WatchEvent
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			if text := eventText(t, event.Type, string(event.Object.Raw)); text != line {
				t.Errorf("the event is %q, want %q", line, text)
			}
		}
		return events
	}
	want := eventText(t, "ADDED", changed)
	for range 2 { // The second time, the text of the object is cached.
		if diff := cmp.Diff(want, watch("", "", 1)[0]); diff != "" {
			t.Errorf("a watch that begins with all objects (-want +got):\n%s", diff)
		}
	}
	initial := "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	if got := watch(initial, "", 2); got[0] != want || !strings.HasPrefix(got[1], `{"type":"BOOKMARK"`) {
		t.Errorf("events of a list: %q, want %q and a bookmark", got, want)
	}
	later := "resourceVersion=" + created.GetResourceVersion()
	if got := watch(later, "", 1)[0]; got != eventText(t, "MODIFIED", changed) {
		t.Errorf("after the create: %q", got)
	}
	for _, form := range []string{"Table", "PartialObjectMetadata"} {
		got := watch(later, "application/json;as="+form+";v=v1;g=meta.k8s.io", 1)
		if !strings.HasPrefix(got[0], `{"type":"MODIFIED","object":{"kind":"`+form) {
			t.Errorf("as %s: %q", form, got)
		}
	}
	shared.must(t, http.StatusOK, "DELETE", path+"/n1", "")
	if got := watch(later, "", 2); !strings.HasPrefix(got[1], `{"type":"DELETED"`) || !strings.Contains(got[1], `"note":"two"`) {
		t.Errorf("after the delete: %q", got)
	}
	if got := watch("resourceVersion=1", "", 1)[0]; !strings.HasPrefix(got, `{"type":"ERROR","object":{"kind":"Status"`) {
		t.Errorf("from an old version: %q", got)
	}
}

// startCache waits until the server caches the objects of a kind. A watch can then begin at each write that follows.
func startCache(t *testing.T, path string) {
	t.Helper()
	readEvents(t, path+"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "", 1)
}

// readEvents reads the first events of a watch, each with the end of its line, and ends the watch.
func readEvents(t *testing.T, path, accept string, count int) []string {
	t.Helper()
	res := get(t, path, accept, "identity")
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewReader(res.Body)
	var events []string
	for range count {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v after %q", path, err, append(events, line))
		}
		events = append(events, line)
	}
	return events
}

// eventText returns the text that the library gives an event.
func eventText(t *testing.T, kind, object string) string {
	t.Helper()
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: []byte(object)}}
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}
