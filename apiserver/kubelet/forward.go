package kubelet

import (
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/registry/rest"
)

// forwarding is one request that goes on to a kubelet or a pod.
type forwarding struct {
	location  *url.URL
	transport http.RoundTripper
	// target is the name of the kubelet or pod in messages.
	target    string
	responder rest.Responder
}

// stream returns a handler for a request that must upgrade its connection.
func (f forwarding) stream() http.Handler {
	handler := proxy.NewUpgradeAwareHandler(f.location, f.transport, false, true, f)
	// The kubelet answers to the server and not to a browser: without this, the kubelet would
	// see the Origin header and the path of the client.
	return handler
}

// proxy returns a handler for any request. It rewrites URLs in the response, so that links lead
// through the proxy.
func (f forwarding) proxy() http.Handler {
	return proxy.NewUpgradeAwareHandler(f.location, f.transport, true, false, f)
}

// Error implements proxy.ErrorResponder.
func (f forwarding) Error(_ http.ResponseWriter, _ *http.Request, err error) {
	f.responder.Error(badGateway(f.target, err))
}

// connector is the part of a rest.Connecter that all subresources here have in common.
type connector struct{}

// Destroy implements rest.Storage. The store of the main resource is destroyed once.
func (connector) Destroy() {}

// upgraded are the methods of a connection: POST for SPDY, GET for WebSockets.
var upgraded = []string{http.MethodGet, http.MethodPost}

// proxied are the methods that a proxy forwards.
var proxied = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions,
}
