package answer

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// A watch keeps the memory of a text only between the events with which it begins. An idle watch
// keeps none.
func TestIdleWatchesKeepNoText(t *testing.T) {
	watched := &eventSerializer{}
	for _, step := range []struct {
		event string
		kept  bool
	}{
		{"ADDED", true},
		{"ADDED", true},
		{"BOOKMARK", false},
		{"ADDED", true},
		{"MODIFIED", false},
		{"DELETED", false},
		{"ERROR", false},
	} {
		event := &metav1.WatchEvent{Type: step.event, Object: runtime.RawExtension{Raw: []byte(`{"kind":"Ship"}`)}}
		got, err := watched.appendEvent(event, nil)
		if want := `{"type":"` + step.event + `","object":{"kind":"Ship"}}` + "\n"; err != nil || string(got) != want {
			t.Errorf("the text of the event is %q, %v, want %q", got, err, want)
		}
		if kept := watched.text != nil; kept != step.kept {
			t.Errorf("after %s, the watch keeps a text: %t, want %t", step.event, kept, step.kept)
		}
	}
}

// All watches send the same text of a change. A GET and a LIST send a part of it.
func TestWatchesShareText(t *testing.T) {
	cache := newQuick(&text.JSON{})
	ship := object.Of(map[string]any{
		"apiVersion": "example.com/v1", "kind": "Ship", "metadata": map[string]any{"name": "a", "uid": "1", "resourceVersion": "7"},
	})
	answers := answerEncoder{quick: cache, version: &kind.Version{}, texts: cache.texts}
	whole, err := answers.appendObject(nil, ship)
	if err != nil {
		t.Fatal(err)
	}
	event := &metav1.WatchEvent{Type: "MODIFIED"}
	var sent [2][]byte
	for i := range sent {
		watched := &eventSerializer{answers: answers}
		if sent[i], err = watched.appendEvent(event, ship); err != nil {
			t.Fatal(err)
		}
	}
	if want := `{"type":"MODIFIED","object":` + string(whole) + "}\n"; string(sent[0]) != want || &sent[0][0] != &sent[1][0] {
		t.Errorf("the watches sent %q and %q, want one text %q", sent[0], sent[1], want)
	}
	after, err := answers.appendObject(nil, ship)
	if err != nil || string(after) != string(whole) {
		t.Errorf("a GET sends %q, %v, want %q", after, err, whole)
	}
	if size := cache.figure(t, "bytes"); size != len(sent[0]) {
		t.Errorf("the cache counts %d bytes, want %d", size, len(sent[0]))
	}
}
