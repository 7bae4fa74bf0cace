package ownershipcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	server "holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/ownership"
)

// write is one request that changes an object.
type write struct {
	*transport
	req  *http.Request
	info *genericapirequest.RequestInfo
}

// isEdit says whether a request comes from an editor.
func isEdit(req *http.Request) bool {
	return ownership.ParseWriter(ownership.Request{Command: req.Header.Get(server.CommandHeader)}).Act == ownership.Edit
}

// writer is who makes the write. The server knows the user's name and a client does
// not, but a client of ours is a person's.
func (w *write) writer() ownership.Writer {
	query := w.req.URL.Query()
	return ownership.ParseWriter(ownership.Request{
		Command: w.req.Header.Get(server.CommandHeader), FieldManager: query.Get("fieldManager"), UserAgent: w.req.UserAgent(),
		ServerSide: strings.HasPrefix(w.req.Header.Get("Content-Type"), strings.TrimSuffix(string(types.ApplyYAMLPatchType), "+yaml")),
		Forced:     server.IsForced(query), Force: w.req.Header.Get(server.ForceHeader) == "true",
	})
}

// object is where the object is, without its subresource.
func (w *write) object() *url.URL {
	out := *w.req.URL
	out.RawQuery = ""
	out.Path = strings.TrimSuffix(strings.TrimSuffix(out.Path, "/"), "/"+w.info.Subresource)
	return &out
}

// live reads the object as it is.
func (w *write) live() (map[string]any, error) { return w.read(w.object().String()) }

func (w *write) read(from string) (map[string]any, error) {
	data, err := w.get(from)
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// question is a read of what a server has, by whoever makes a request: who that is
// the client has said already, in the headers.
func question(req *http.Request, from string) (*http.Request, error) {
	ask, err := http.NewRequestWithContext(req.Context(), http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	ask.Header = req.Header.Clone()
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "Accept-Encoding"} {
		ask.Header.Del(name)
	}
	ask.Header.Set("Accept", "application/json")
	return ask, nil
}

func (w *write) get(from string) ([]byte, error) {
	req, err := question(w.req, from)
	if err != nil {
		return nil, err
	}
	return w.content(req)
}

// typeOf is the type of an object.
func (w *write) typeOf(obj map[string]any) *ownership.Type {
	gvk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind()
	return w.types.Of(gvk, Schemas{
		Server: w.req.URL.Host + w.prefix,
		Get:    func(path string) ([]byte, error) { return w.get(w.at(w.req, path)) },
	})
}

// try has the server try a request and gives what it would store.
func (w *write) try(body []byte) (map[string]any, error) {
	req := w.req.Clone(w.req.Context())
	query := req.URL.Query()
	query.Set("dryRun", "All")
	req.URL.RawQuery = query.Encode()
	req.Header.Set("Accept", "application/json")
	setBody(req, body)
	data, err := w.content(req)
	if err != nil {
		return nil, fmt.Errorf("the server does not try the write: %w", err)
	}
	return decode(data)
}

// content sends a request and reads the body of a good answer.
func (w *write) content(req *http.Request) ([]byte, error) {
	resp, err := w.send(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, failure(resp)
	}
	return io.ReadAll(resp.Body)
}

// maxFailure is how much of a bad answer is read.
const maxFailure = 64 << 10

// failure is what a bad answer says.
func failure(resp *http.Response) error {
	var status metav1.Status
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxFailure))
	if err != nil || json.Unmarshal(data, &status) != nil || status.Message == "" {
		status = metav1.Status{Message: "the server answers " + resp.Status}
	}
	status.Code = int32(resp.StatusCode)
	return &apierrors.StatusError{ErrStatus: status}
}

func decode(data []byte) (map[string]any, error) {
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		return nil, err
	}
	if obj == nil {
		return nil, errors.New("null is no object")
	}
	return obj, nil
}

// takeBody reads what the request sends. The request can be sent with setBody.
func (w *write) takeBody() ([]byte, error) {
	if w.req.Body == nil {
		return nil, nil
	}
	defer func() { _ = w.req.Body.Close() }()
	return io.ReadAll(w.req.Body)
}

func setBody(req *http.Request, body []byte) {
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// sendBody sends the request with a body.
func (w *write) sendBody(body []byte) (*http.Response, error) {
	req := w.req.Clone(w.req.Context())
	setBody(req, body)
	return w.send(req)
}

// sendUnjudged sends a write that could not be judged: what the server refuses it is
// to refuse in its own words, and of what it stores one line says so.
func (w *write) sendUnjudged(body []byte, why error) (*http.Response, error) {
	resp, err := w.sendBody(body)
	return warned(resp, ownership.Verdict{Note: why.Error()}), err
}

// lastApplied is the configuration that was applied last, "" if there is none.
func lastApplied(obj map[string]any) string {
	text, _, _ := unstructured.NestedString(obj, "metadata", "annotations", ownership.LastApplied)
	return text
}

func encode(obj map[string]any) ([]byte, error) { return json.Marshal(obj) }
