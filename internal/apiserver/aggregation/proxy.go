package aggregation

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	proxyrequest "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/streaming/pkg/httpstream"
)

// bearerProtocol is the prefix of the websocket protocol with which browsers send a token.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// proxy forwards requests to the server of one remote APIService. It is immutable: after an
// update of the APIService, the Server creates a new proxy.
type proxy struct {
	service  *apiregistrationv1.APIService
	resolver resolver
	// transport has the client certificate of this server. It is nil if err is not.
	transport http.RoundTripper
	err       error
}

// resolver finds the address of a Service.
type resolver interface {
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
}

// groupVersion returns the API that the other server serves.
func (p *proxy) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: p.service.Spec.Group, Version: p.service.Spec.Version}
}

// ServeHTTP implements http.Handler. It forwards watches and upgraded connections, too.
func (p *proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if err := p.available(); err != nil {
		p.refuse(w, req, err)
		return
	}
	client, ok := genericapirequest.UserFrom(req.Context())
	if !ok {
		p.refuse(w, req, apierrors.NewInternalError(errors.New("the request has no user")))
		return
	}
	location, err := p.locate(req.URL)
	if err != nil {
		p.refuse(w, req, p.unavailable(err))
		return
	}
	forwarded, cancel := proxyrequest.NewRequestForProxy(location, req)
	defer cancel()
	removeCredentials(forwarded.Header)
	identified := transport.NewAuthProxyRoundTripper(client.GetName(), client.GetUID(), client.GetGroups(), client.GetExtra(), p.transport)
	upgrade := httpstream.IsUpgradeRequest(req)
	if upgrade {
		// An upgraded connection bypasses the transport, which would set these headers.
		setUser(forwarded, client)
	}
	handler := utilproxy.NewUpgradeAwareHandler(location, identified, true, upgrade, errorResponder{p})
	// A redirect could make this server present its client certificate to any host.
	handler.RejectForwardingRedirects = true
	utilflowcontrol.RequestDelegated(req.Context())
	handler.ServeHTTP(w, forwarded)
}

// setUser sets the headers that name the user, and removes those that the client sent.
func setUser(req *http.Request, client user.Info) {
	transport.SetAuthProxyHeaders(req, client.GetName(), client.GetUID(), client.GetGroups(), client.GetExtra())
}

// removeCredentials removes the credential of the client. Authentication has removed the one
// that it used, but a request can have several.
func removeCredentials(header http.Header) {
	header.Del("Authorization")
	header.Del("Cookie")
	const key = "Sec-Websocket-Protocol"
	var kept []string
	for protocol := range strings.SplitSeq(strings.Join(header.Values(key), ","), ",") {
		if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(protocol, bearerProtocol) {
			kept = append(kept, protocol)
		}
	}
	if header.Del(key); len(kept) > 0 {
		header.Set(key, strings.Join(kept, ", "))
	}
}

// available returns the error for clients if the other server cannot be called.
func (p *proxy) available() error {
	condition := helper.GetAPIServiceConditionByType(p.service, apiregistrationv1.Available)
	switch {
	case condition == nil:
		return p.unavailable(errors.New("it was not checked yet"))
	case condition.Status != apiregistrationv1.ConditionTrue:
		return p.unavailable(fmt.Errorf("%s: %s", condition.Reason, condition.Message))
	case p.err != nil:
		return p.unavailable(p.err)
	}
	return nil
}

func (p *proxy) isAvailable() bool { return p.available() == nil }

func (p *proxy) unavailable(err error) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("the APIService %s is not available: %v", p.service.Name, err))
}

// locate returns the URL at the other server for a URL of this one.
func (p *proxy) locate(from *url.URL) (*url.URL, error) {
	service := p.service.Spec.Service
	found, err := p.resolver.ResolveEndpoint(service.Namespace, service.Name, *service.Port)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "https", Host: found.Host, Path: from.Path, RawQuery: from.Query().Encode()}, nil
}

func (p *proxy) refuse(w http.ResponseWriter, req *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, aggregatorscheme.Codecs, p.groupVersion(), w, req)
}

// errorResponder answers requests that could not be forwarded.
type errorResponder struct{ *proxy }

// Error implements proxy.ErrorResponder.
func (r errorResponder) Error(w http.ResponseWriter, req *http.Request, err error) {
	r.refuse(w, req, r.unavailable(err))
}
