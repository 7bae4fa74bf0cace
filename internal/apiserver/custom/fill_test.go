package custom_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestListWaitsForCache checks that the first list of a custom resource waits until its watch cache is filled.
// A conversion webhook makes that slow.
func TestListWaitsForCache(t *testing.T) {
	t.Parallel()
	const group = "slowfill.example.com"
	hook := startConverter(t, group)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{name: x}`))
	hook.set("slow")
	// The server answered 429 after half a second.
	time.AfterFunc(time.Second, func() { close(hook.release) })
	got, err := shared.send("GET", strings.Replace(objectsPath(group), "/v1/", "/v2/", 1), "")
	if err != nil || got.code != http.StatusOK {
		t.Errorf("%s, %v", got.text(), err)
	}
}

// TestListOfUnreadableKind checks that a list does not wait for a watch cache that cannot be filled: a client
// that lists such a kind must not take the place of other requests. A list that waits gets 504 at the end.
func TestListOfUnreadableKind(t *testing.T) {
	t.Parallel()
	const group = "nofill.example.com"
	hook := startConverter(t, group)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{name: x}`))
	hook.set("failing")
	for range 2 {
		got, err := shared.send("GET", strings.Replace(objectsPath(group), "/v1/", "/v2/", 1), "")
		if err != nil || got.code != http.StatusTooManyRequests {
			t.Errorf("%s, %v", got.text(), err)
		}
	}
}
