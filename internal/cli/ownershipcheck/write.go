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

	server "holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/ownership"
)

// applyPatchType is the content type of server-side apply, without the suffix for its format.
var applyPatchType = strings.TrimSuffix(string(types.ApplyYAMLPatchType), "+yaml")

// write is one request that changes an object.
type write struct {
	*transport
	req  *http.Request
	info *genericapirequest.RequestInfo
}

// isEdit reports whether a request comes from the command edit.
func isEdit(req *http.Request) bool {
	return ownership.ParseWriter(ownership.Request{Command: req.Header.Get(server.CommandHeader)}).Act == ownership.Edit
}

// writer describes the command that makes the write. Unlike the server, the client does
// not know the name of the user. The server needs the name to recognize controllers; the
// commands of this CLI are not controllers.
func (w *write) writer() ownership.Writer {
	query := w.req.URL.Query()
	return ownership.ParseWriter(ownership.Request{
		Command: w.req.Header.Get(server.CommandHeader), FieldManager: query.Get("fieldManager"), UserAgent: w.req.UserAgent(),
		ServerSide: strings.HasPrefix(w.req.Header.Get("Content-Type"), applyPatchType),
		Forced:     server.IsForced(query), Force: w.req.Header.Get(server.ForceHeader) == "true",
	})
}

// object returns the URL of the object, without its subresource.
func (w *write) object() *url.URL {
	out := *w.req.URL
	out.RawQuery = ""
	out.Path = strings.TrimSuffix(strings.TrimSuffix(out.Path, "/"), "/"+w.info.Subresource)
	return &out
}

// live reads the object from the server.
func (w *write) live() (map[string]any, error) { return w.read(w.object().String()) }

func (w *write) read(from string) (map[string]any, error) {
	data, err := w.get(from)
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// newGet returns a GET request with the credentials of another request. The client has
// already set these in the headers.
func newGet(req *http.Request, from string) (*http.Request, error) {
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
	req, err := newGet(w.req, from)
	if err != nil {
		return nil, err
	}
	return w.content(req)
}

// typeOf returns the type of an object.
func (w *write) typeOf(obj map[string]any) *ownership.Type {
	gvk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind()
	return w.types.Of(gvk, Schemas{
		Server: w.req.URL.Host + w.prefix,
		Get:    func(path string) ([]byte, error) { return w.get(w.serverURL(w.req, path)) },
	})
}

// dryRun sends the write as a dry run and returns the object that the server would store.
func (w *write) dryRun(body []byte) (map[string]any, error) {
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

// content sends a request and returns the body of a successful response.
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

// maxFailure is the number of bytes of an error response that are read.
const maxFailure = 64 << 10

// failure converts an error response to an error.
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

// readBody reads the body of the request. To send the request, the body has to be set
// again with setBody.
func (w *write) readBody() ([]byte, error) {
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

// sendBody sends the request with the given body.
func (w *write) sendBody(body []byte) (*http.Response, error) {
	req := w.req.Clone(w.req.Context())
	setBody(req, body)
	return w.send(req)
}

// sendUnchecked sends a write that could not be checked. If the server accepts it, a warning
// names the object and tells the reason. If not, the response of the server is returned unchanged.
func (w *write) sendUnchecked(body []byte, resource string, why error) (*http.Response, error) {
	resp, err := w.sendBody(body)
	return withWarnings(resp, ownership.Verdict{Resource: resource, Note: why.Error()}), err
}

// named returns the name of the object in messages, as far as the path of the request tells it: with its resource instead of its kind.
func (w *write) named() string {
	return ownership.ResourceOf(w.info.APIGroup, w.info.Resource, w.info.Namespace, w.info.Name)
}

// lastApplied returns the last-applied configuration of an object, "" if there is none.
func lastApplied(obj map[string]any) string {
	text, _, _ := unstructured.NestedString(obj, "metadata", "annotations", ownership.LastApplied)
	return text
}

func encode(obj map[string]any) ([]byte, error) { return json.Marshal(obj) }
