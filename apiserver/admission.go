package apiserver

import (
	"fmt"
	"io"
	"net/url"

	"k8s.io/apiserver/pkg/admission"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"

	"holdfast.dev/holdfast/access/rbac"
)

// applyAdmission puts admission in force: namespaces that are going take
// nothing new, nobody grants what they do not hold, then the webhooks and
// policies that users register.
func applyAdmission(config *genericapiserver.Config, clients *clients, roles *rbac.Authorizer) error {
	chain := options.NewAdmissionOptions()
	add(chain, "RoleEscalation", rbac.NewEscalation(roles, config.Authorization.Authorizer, rbac.LiveRoles(clients.kube.RbacV1())))

	authInfo := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, nil)
	if err := chain.ApplyTo(config, clients.informers, clients.kube, clients.dynamic,
		utilfeature.DefaultFeatureGate, config.EffectiveVersion,
		webhookinit.NewPluginInitializer(authInfo, serviceResolver{})); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	return nil
}

// add puts a plugin of ours before those that call what users registered.
func add(chain *options.AdmissionOptions, name string, plugin admission.Interface) {
	chain.Plugins.Register(name, func(io.Reader) (admission.Interface, error) { return plugin, nil })
	chain.RecommendedPluginOrder = append([]string{chain.RecommendedPluginOrder[0], name}, chain.RecommendedPluginOrder[1:]...)
}

// serviceResolver finds a webhook that is named by its Service: under the
// service's DNS name, since no cluster network is run here.
type serviceResolver struct{}

// ResolveEndpoint implements webhook.ServiceResolver.
func (serviceResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: fmt.Sprintf("%s.%s.svc:%d", name, namespace, port)}, nil
}
