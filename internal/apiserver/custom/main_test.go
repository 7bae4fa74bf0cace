package custom_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// shared is the client of the server that all tests use. Each test has definitions of
// its own.
var shared *client

// sharedConfig is the config of shared.
var sharedConfig *restclient.Config

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *restclient.Config) (err error) {
		sharedConfig = config
		shared, err = newClient(config)
		return err
	}))
}

// client sends plain HTTP requests, so that tests see exactly what the server answers.
type client struct {
	http *http.Client
	url  string
}

func newClient(config *restclient.Config) (*client, error) {
	c, err := restclient.HTTPClientFor(config)
	return &client{http: c, url: config.Host}, err
}

// answer is the response to a request.
type answer struct {
	code     int
	object   *unstructured.Unstructured
	warnings []string
}

// text returns the status code, the message of a Status and the warnings.
func (a answer) text() string {
	message, _, _ := unstructured.NestedString(a.object.Object, "message")
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", a.code, message, strings.Join(a.warnings, " ")))
}

// do sends YAML as JSON, or as the media type given after the method: "PATCH
// application/merge-patch+json". Like client-go, it sends the request again if the server answers
// 429, because a busy server needs time to fill the cache of a resource that was just defined, or 503, because the definition changes all the time.
func (c *client) do(method, path, body string) (answer, error) {
	for attempt := 0; ; attempt++ {
		got, err := c.send(method, path, body)
		again := got.code == http.StatusTooManyRequests || got.code == http.StatusServiceUnavailable
		if err != nil || !again || attempt == 1000 {
			return got, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// send sends a request once, see do.
func (c *client) send(method, path, body string) (answer, error) {
	method, mediaType, _ := strings.Cut(method, " ")
	if mediaType == "" {
		mediaType = "application/json"
	}
	data, err := yaml.YAMLToJSON([]byte(body))
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequest(method, c.url+path, bytes.NewReader(data))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", mediaType)
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	got := answer{code: res.StatusCode, object: &unstructured.Unstructured{Object: map[string]any{}}}
	for _, header := range res.Header.Values("Warning") {
		_, message, _ := strings.Cut(header, `"`)
		got.warnings = append(got.warnings, strings.ReplaceAll(strings.TrimSuffix(message, `"`), `\"`, `"`))
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return got, err
	}
	if err := utiljson.Unmarshal(raw, &got.object.Object); err != nil {
		got.object.Object = map[string]any{"message": string(raw)}
	}
	return got, nil
}

// must is do, and fails the test unless the status code is the given one.
func (c *client) must(t testing.TB, code int, method, path, body string) *unstructured.Unstructured {
	t.Helper()
	got, err := c.do(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if got.code != code {
		t.Fatalf("%s %s: %s", method, path, got.text())
	}
	return got.object
}

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	merge       = "PATCH application/merge-patch+json"
	apply       = "PATCH application/apply-patch+yaml"
	jsonPatch   = "PATCH application/json-patch+json"
)

// define creates a definition of Things in a group. Its version v1 has both
// subresources.
func define(t testing.TB, group, schema string) {
	t.Helper()
	shared.must(t, http.StatusCreated, "POST", definitions, thing(group, schema))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
}

func thing(group, schema string) string {
	return things(group, `
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: `+schema+`
          status:
            type: object
            properties:
              phase: {type: string}
              replicas: {type: integer}
              fixed: {type: string, x-kubernetes-immutable: true}
`)
}

// things returns a definition of Things; rest is the rest of its spec, such as versions.
func things(group, rest string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%s}
spec:
  group: %s
  scope: Namespaced
  names: {plural: things, kind: Thing}
%s`, group, group, strings.TrimPrefix(rest, "\n"))
}

// remove deletes an object and waits until it is gone.
func remove(t testing.TB, path string) {
	t.Helper()
	if _, err := shared.do("DELETE", path, ""); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, path+" is gone", func() bool {
		got, err := shared.do("GET", path, "")
		return err == nil && got.code == http.StatusNotFound
	})
}

func conditionOf(obj *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return ""
}
