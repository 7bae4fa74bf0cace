package disclosure_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestSecretValues checks that the answers to wrong writes of a Secret, and the audit log, have neither stored nor new values of it.
// The stored value is stored-value, and those of the writes begin with new-value.
func TestSecretValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, rules := filepath.Join(dir, "audit.log"), filepath.Join(dir, "audit.yaml")
	if err := os.WriteFile(rules, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t, apiserver.Config{Audit: config.Audit{PolicyFile: rules, LogPath: log}})
	root := newClient(t, server.Config(t))
	const all = "/api/v1/namespaces/default/secrets"
	root.send(t, call{"POST", all, "", `{apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {a: stored-value}}`})
	const (
		merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
		jsonPatch, apply = "application/json-patch+json", "application/apply-patch+yaml"
		json, yaml       = "application/json", "application/yaml"

		invalid = `422  "" is invalid: patch: Invalid value: the patched object is no valid Secret`
		base64  = `: illegal base64 data at input byte 3`
		unknown = `422  "" is invalid: patch: Invalid value: strict decoding error: unknown field "datas"`
		handled = `400 Secret in version "v1" cannot be handled as a Secret: `
		secret  = `"apiVersion":"v1","kind":"Secret","metadata":{"name":"keys"}`
	)
	values := regexp.MustCompile("stored-value|new-value|c3RvcmVk|bmV3")
	for _, test := range []struct{ media, query, body, want string }{
		{merge, "", `{"data":{"b":"new-value"}}`, invalid + base64},
		{merge, "", `{"stringData":{"b":["new-value"]}}`, invalid},
		{merge, "", `{"metadata":{"labels":5}}`, invalid},
		{merge, "?fieldValidation=Strict", `{"datas":{"b":"new-value"},"stringData":{"b":"new-value"}}`, unknown},
		{merge, "", `{"stringData":{"b":"new-value"`, "400 invalid JSON patch"},
		{strategic, "", `{"data":{"b":"new-value"}}`, invalid + base64},
		{strategic, "", `{"data":"new-value"}`, invalid},
		{strategic, "", `{"stringData":{"b":5,"c":"new-value"}}`, invalid},
		{strategic, "?fieldValidation=Strict", `{"datas":{"b":"new-value"}}`, unknown},
		{strategic, "", `{"data":{"$patch":"new-value"}}`, "500 the patched object is no valid Secret"},
		{jsonPatch, "", `[{"op":"add","path":"/data/b","value":"new-value"}]`, invalid + base64},
		{jsonPatch, "", `[{"op":"test","path":"/data/a","value":"new-value"}]`, "422 the server rejected our request due to an error in our request"},
		{jsonPatch, "", `[{"op":"move","from":"/data/a","path":"/metadata/creationTimestamp"}]`, invalid},
		{jsonPatch, "", `[{"op":"copy","from":"/data/a","path":"/kind"}]`, invalid},
		{apply, "?fieldManager=x", `{"apiVersion":"v1","kind":"Secret","data":{"b":"new-value"}}`, "500 the patched object is no valid Secret" + base64},
		{apply, "?fieldManager=x", `{"apiVersion":"v1","kind":"Secret","data":{"b":5},"stringData":["new-value"]}`, "500 the patched object is no valid Secret"},
		{json, "", `{` + secret + `,"data":{"b":"new-value"}}`, handled + "illegal base64 data at input byte 3"},
		{json, "", `{` + secret + `,"data":"new-value"}`, handled + "json: cannot unmarshal string into Go struct field Secret.data of type map[string][]uint8"},
		{json, "", `{"stringData":{"b":"new-value"`, handled + "couldn't get version/kind; json parse error: unexpected end of JSON input"},
		{yaml, "", "stringData:\n  b: *new-value\n", handled + "yaml: unknown anchor '...' referenced"},
	} {
		method := "PATCH"
		if test.media == json || test.media == yaml {
			method = "PUT"
		}
		got := root.sendText(t, method, test.media, all+"/keys"+test.query, test.body)
		if got.text() != test.want {
			t.Errorf("%s %s: %s\nwant %s", test.media, test.body, got.text(), test.want)
		}
		if found := values.FindString(got.told()); found != "" {
			t.Errorf("%s %s: the answer has %s: %s", test.media, test.body, found, got.told())
		}
		if method != "PUT" {
			continue
		}
		if got := root.sendText(t, "POST", test.media, all, test.body); got.text() != test.want {
			t.Errorf("create %s: %s\nwant %s", test.body, got.text(), test.want)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	logged, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(logged), "the patched object is no valid Secret") || values.Match(logged) {
		t.Errorf("the audit log has a value %q, or no message", values.Find(logged))
	}
}

// sendText sends a body as it is.
func (c client) sendText(t *testing.T, method, media, path, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	return c.do(t, req)
}
