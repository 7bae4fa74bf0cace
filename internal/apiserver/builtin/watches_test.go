package builtin_test

import (
	"bufio"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A watch shows the same events as one with the old path for watches, which the library serves.
func TestWatchLikeOldPath(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	sender := servertest.NewSender(t, server.Config(t))
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"own","labels":{"app":"other"}},"data":{"text":"<a href=\"\u2028&\">"}}`
	created, _ := sender.Send(t, servertest.Request{Method: http.MethodPost, Path: benchedConfigMaps, Body: []byte(object)})
	selected := "labelSelector=app%3Dweb&resourceVersion=" + yamltest.Decode[corev1.ConfigMap](t, string(created)).ResourceVersion
	quick := openLines(t, sender, benchedConfigMaps+"?watch=true&"+selected)
	library := openLines(t, sender, "/api/v1/watch/namespaces/default/configmaps?"+selected)
	for _, change := range []string{
		`{"metadata":{"labels":{"app":"web"}}}`, `{"data":{"more":"x"}}`, `{"metadata":{"labels":{"app":"other"}}}`, `{"metadata":{"labels":{"app":"web"}}}`,
	} {
		sender.Send(t, servertest.Request{Method: http.MethodPatch, Path: benchedConfigMaps + "/own", Media: mergePatch, Body: []byte(change)})
	}
	sender.Send(t, servertest.Request{Method: http.MethodDelete, Path: benchedConfigMaps + "/own"})
	for range 5 {
		want, err := library.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		got, err := quick.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event (-library +watch):\n%s", diff)
		}
	}
}

// openLines opens a watch in JSON.
func openLines(t *testing.T, sender servertest.Sender, path string) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sender.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := sender.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %d %s", path, res.StatusCode, text)
	}
	return bufio.NewReader(res.Body)
}
