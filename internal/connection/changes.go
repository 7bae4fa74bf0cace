package connection

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// ChangesHeader is a request header. With the value "as-changes", a watch shows a replacement as MODIFIED, with another UID.
	ChangesHeader = "Holdfast-Replacements"
	changesValue  = "as-changes"
)

// RequestsChanges reports whether a watch request asks for replacements as changes.
func RequestsChanges(req *http.Request) bool {
	return req.Header.Get(ChangesHeader) == changesValue
}

// asChanges asks for replacements as changes in each request.
type asChanges struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t asChanges) RoundTrip(req *http.Request) (*http.Response, error) {
	req = utilnet.CloneRequest(req)
	req.Header.Set(ChangesHeader, changesValue)
	return t.RoundTripper.RoundTrip(req)
}

// WrappedRoundTripper implements net.RoundTripperWrapper, for Close.
func (t asChanges) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
