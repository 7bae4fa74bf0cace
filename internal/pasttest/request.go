package pasttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// request is what the path of a request says.
type request struct {
	resource, namespace, name, subresource string
}

// parse reads the path of a request for objects. It returns false for other requests, such as those for discovery.
func parse(path string) (request, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return request{}, false
	}
	var r request
	// A request for a namespace itself has no further resource.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		r.namespace, parts = parts[1], parts[2:]
	}
	r.resource = parts[0]
	if len(parts) > 1 {
		r.name = parts[1]
	}
	if len(parts) > 2 {
		r.subresource = strings.Join(parts[2:], "/")
	}
	return r, true
}

// inJSON returns a copy of a request for objects that asks for JSON without compression, so that the proxy can read the answer.
func inJSON(req *http.Request) *http.Request {
	req = req.Clone(req.Context())
	var accepted []string
	for media := range strings.SplitSeq(req.Header.Get("Accept"), ",") {
		if media = strings.TrimSpace(media); strings.HasPrefix(media, "application/json") {
			accepted = append(accepted, media)
		}
	}
	if len(accepted) == 0 {
		accepted = []string{"application/json"}
	}
	req.Header.Set("Accept", strings.Join(accepted, ","))
	req.Header.Set("Accept-Encoding", "identity")
	return req
}

// body reads the body of a request, and puts a copy in its place.
func body(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := req.Body.Close(); err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(data))
	return data, nil
}

// hasPreconditions reports whether the body of a delete request names the UID or the resourceVersion of the object.
func hasPreconditions(data []byte) bool {
	options := &metav1.DeleteOptions{}
	if obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, options); err == nil {
		if decoded, ok := obj.(*metav1.DeleteOptions); ok {
			options = decoded
		}
	} else if json.Unmarshal(data, options) != nil {
		return false
	}
	p := options.Preconditions
	return p != nil && (p.UID != nil || p.ResourceVersion != nil)
}

// invalid returns the answer to a request that the proxy does not support.
func invalid(req *http.Request, message string) *http.Response {
	status := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":%q}`, message)
	return &http.Response{
		StatusCode: http.StatusUnprocessableEntity, Status: "422 Unprocessable Entity", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)),
		ContentLength: int64(len(status)), Request: req,
	}
}
