package guard_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli/command"
)

// TestAuditWithoutGuard checks that an audit of a cluster of another API server says that no guard is installed, and exits with 2. A proxy
// hides that the server is ours.
func TestAuditWithoutGuard(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	target, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(server.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(response *http.Response) error {
			if response.Request.URL.Path != "/version" {
				return nil
			}
			text, err := io.ReadAll(response.Body)
			text = bytes.ReplaceAll(text, []byte("+holdfast"), nil)
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			response.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return err
		},
	})
	defer proxy.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: '" + proxy.URL + "'}}]\n" +
		"contexts: [{name: a, context: {cluster: a}}]\n"
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := run(t.Context(), "", "guard", "audit", "--kubeconfig", file)
	if command.Code(nil, err) != command.ExitUnable || !strings.Contains(err.Error(), `"holdfast guard init"`) || out != "" {
		t.Errorf("without a guard: %q, %v", out, err)
	}
	if _, _, err := run(t.Context(), "", "guard", "init", "--kubeconfig", file, "--webhook-url", "https://127.0.0.1:9"); err != nil {
		t.Fatal(err)
	}
	out, _, err = run(t.Context(), "", "guard", "audit", "--kubeconfig", file)
	if err != nil || out != "nothing found in 0 guarded objects\n" {
		t.Errorf("with a guard: %q, %v", out, err)
	}
}
