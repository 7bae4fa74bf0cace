package series_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/cli"
)

// A server without the index answers 406. Kubernetes does.
func TestUsedWithoutIndex(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotAcceptable)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotAcceptable","code":406}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "` + server.URL + `"}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"used", "cm/a"}, {"unused"}} {
		var out, errs bytes.Buffer
		args = append([]string{"series"}, append(args, "--kubeconfig", file)...)
		err := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, args)
		if want := `this server has no index of references: only "holdfast serve" has one`; err == nil || err.Error() != want {
			t.Errorf("%v: %v, %s%s", args, err, &out, &errs)
		}
	}
}
