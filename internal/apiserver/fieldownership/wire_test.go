package fieldownership_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/ownership"
)

// wire sends the requests that kubectl sends, for objects of any kind.
type wire struct {
	client *http.Client
	host   string
	scheme *runtime.Scheme
}

func newWire(t testing.TB, config *rest.Config, scheme *runtime.Scheme) *wire {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &wire{client: client, host: config.Host, scheme: scheme}
}

// call is one request.
type call struct {
	method, path string
	// command is the header Kubectl-Command.
	command string
	query   url.Values
	// kind is the media type of the body.
	kind string
	body any
}

// reply is the answer to a request.
type reply struct {
	code     int
	object   map[string]any
	warnings []string
}

func (r reply) stored() bool { return r.code >= 200 && r.code < 300 }

// message returns the message of an error.
func (r reply) message() string { return fmt.Sprint(r.code, " ", r.object["message"]) }

func (w *wire) send(t testing.TB, c call) reply {
	t.Helper()
	body, ok := c.body.([]byte)
	if !ok && c.body != nil {
		var err error
		if body, err = json.Marshal(c.body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), c.method, w.host+c.path+"?"+c.query.Encode(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Kubectl-Command", c.command)
	req.Header.Set("User-Agent", "kubectl/v1.32.0")
	req.Header.Set("Accept", "application/json")
	if c.kind == "" {
		c.kind = "application/json"
	}
	req.Header.Set("Content-Type", c.kind)
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := reply{code: resp.StatusCode}
	if err := utiljson.Unmarshal(data, &out.object); err != nil {
		t.Fatalf("%s %s: %v: %s", c.method, c.path, err, data)
	}
	headers, _ := utilnet.ParseWarningHeaders(resp.Header.Values("Warning"))
	for _, header := range headers {
		out.warnings = append(out.warnings, header.Text)
	}
	return out
}

// managedBy returns the query of a write by a field manager.
func managedBy(manager string, more ...string) url.Values {
	query := url.Values{"fieldManager": {manager}}
	for i := 0; i < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	return query
}

// applyAs is kubectl apply with a field manager: it creates the object, or sends the
// difference between the file, the last-applied configuration and the live object.
func (w *wire) applyAs(t testing.TB, o *manifest, manager string) reply {
	t.Helper()
	modified := withLastApplied(t, o.object)
	live := w.send(t, call{method: http.MethodGet, path: o.path()})
	if live.code == http.StatusNotFound {
		return w.create(t, o, call{command: "kubectl apply", query: managedBy(manager), body: modified})
	}
	patch, kind, err := w.threeWayPatch(t, live.object, modified)
	if err != nil {
		// kubectl would not send the file.
		return reply{object: map[string]any{"message": err.Error()}}
	}
	if string(patch) == "{}" {
		return live
	}
	return w.send(t, call{
		method: http.MethodPatch, path: o.path(), command: "kubectl apply", query: managedBy(manager), kind: kind, body: patch,
	})
}

// create creates an object.
func (w *wire) create(t testing.TB, o *manifest, c call) reply {
	t.Helper()
	c.method, c.path = http.MethodPost, o.collection()
	return w.send(t, c)
}

// applyServerSide is kubectl apply --server-side --force-conflicts.
func (w *wire) applyServerSide(t testing.TB, o *manifest, manager string) reply {
	t.Helper()
	return w.send(t, call{
		method: http.MethodPatch, path: o.path(), command: "kubectl apply", query: managedBy(manager, "force", "true"),
		kind: string(types.ApplyYAMLPatchType), body: o.object,
	})
}

// threeWayPatch returns the patch of kubectl apply and its media type.
func (w *wire) threeWayPatch(t testing.TB, live, modified map[string]any) (patch []byte, kind string, err error) {
	t.Helper()
	original := []byte((&unstructured.Unstructured{Object: live}).GetAnnotations()[ownership.LastApplied])
	current, wanted := encode(t, live), encode(t, modified)
	typed, err := w.scheme.New((&unstructured.Unstructured{Object: modified}).GroupVersionKind())
	if err != nil {
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(original, wanted, current)
		return patch, string(types.MergePatchType), err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	patch, err = strategicpatch.CreateThreeWayMergePatch(original, wanted, current, meta, true)
	return patch, string(types.StrategicMergePatchType), err
}

// withLastApplied returns a copy of a configuration with the annotation of kubectl apply.
func withLastApplied(t testing.TB, config map[string]any) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(config)}
	if u.GetAnnotations() == nil {
		u.SetAnnotations(map[string]string{})
	}
	text := string(encode(t, u.Object)) + "\n"
	annotations := maps.Clone(u.GetAnnotations())
	annotations[ownership.LastApplied] = text
	u.SetAnnotations(annotations)
	return u.Object
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
