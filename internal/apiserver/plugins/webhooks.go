package plugins

import (
	"fmt"
	"net/url"

	"k8s.io/apiserver/pkg/util/webhook"
)

// WebhookAuthentication adds no credential of this server to calls of admission and conversion
// webhooks, so it returns its argument. Upstream sends the server's own credential to the Service
// kubernetes.default.svc, under whatever address that name resolves to, so the author of a
// webhook could read it.
func WebhookAuthentication(delegate webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
	return delegate
}

// ServiceResolver resolves the Service of a webhook to its DNS name, since the server
// runs no cluster network.
type ServiceResolver struct{}

// ResolveEndpoint implements webhook.ServiceResolver.
func (ServiceResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: fmt.Sprintf("%s.%s.svc:%d", name, namespace, port)}, nil
}
