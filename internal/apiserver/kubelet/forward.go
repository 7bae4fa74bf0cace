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
	return proxy.NewUpgradeAwareHandler(f.location, f.transport, false, true, f)
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

// Destroy implements rest.Storage. It does nothing: the registry of the main resource destroys
// the store.
func (connector) Destroy() {}

// upgradeMethods are the methods of requests that upgrade their connection: POST for SPDY, GET for
// WebSockets.
var upgradeMethods = []string{http.MethodGet, http.MethodPost}

// proxyMethods are the methods that a proxy forwards.
var proxyMethods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions,
}
