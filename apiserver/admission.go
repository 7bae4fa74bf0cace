package apiserver

import (
	"fmt"
	"io"
	"net/url"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"

	"holdfast.dev/holdfast/access/certificate"
	"holdfast.dev/holdfast/access/node"
	"holdfast.dev/holdfast/access/rbac"
	"holdfast.dev/holdfast/access/serviceaccount"
	"holdfast.dev/holdfast/lifecycle/limit"
	"holdfast.dev/holdfast/lifecycle/quota"
)

// applyAdmission puts admission in force: namespaces that are going take
// nothing new, containers get their limits, pods get an account, nodes keep to
// their own, certificates are asked for in one's own name, nobody grants what
// they do not hold; then the webhooks and policies that users register, what
// operator packages hold their Instances to, and last the quotas. The order is
// Kubernetes'.
func (s *Server) applyAdmission(config *genericapiserver.Config, clients *clients, roles *rbac.Authorizer) error {
	chain := options.NewAdmissionOptions()
	core := clients.informers.Core().V1()
	add(chain, "LimitRanger", limit.NewAdmission(core.LimitRanges(), clients.kube.CoreV1()))
	add(chain, "ServiceAccount", serviceaccount.NewAdmission(core.ServiceAccounts().Lister(), clients.kube.CoreV1()))
	add(chain, "NodeRestriction", node.NewAdmission(core.Pods().Lister(), clients.kube.CoreV1(), config.Authentication.APIAudiences))
	add(chain, "CertificateSigning", certificate.NewAdmission(config.Authorization.Authorizer))
	add(chain, "RoleEscalation", rbac.NewEscalation(roles, config.Authorization.Authorizer, rbac.LiveRoles(clients.kube.RbacV1())))
	if !s.config.WithoutOperators {
		addOperatorAdmission(chain, clients.dynamic)
	}

	// What is charged is meant to be stored: quotas come after all that refuses.
	addLast(chain, "ResourceQuota", quota.NewAdmission(core.ResourceQuotas(), clients.kube.CoreV1()))

	authInfo := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, nil)
	if err := chain.ApplyTo(config, clients.informers, policyClient{clients.kube, clients.documents}, clients.dynamic,
		utilfeature.DefaultFeatureGate, config.EffectiveVersion,
		webhookinit.NewPluginInitializer(authInfo, serviceResolver{})); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	return nil
}

// add puts a plugin of ours before those that call what users registered, and
// after those of ours that are there.
func add(chain *options.AdmissionOptions, name string, plugin admission.Interface) {
	chain.Plugins.Register(name, func(io.Reader) (admission.Interface, error) { return plugin, nil })
	users := slices.Index(chain.RecommendedPluginOrder, mutating.PluginName)
	chain.RecommendedPluginOrder = slices.Insert(chain.RecommendedPluginOrder, users, name)
}

// addLast puts a plugin of ours behind all others.
func addLast(chain *options.AdmissionOptions, name string, plugin admission.Interface) {
	chain.Plugins.Register(name, func(io.Reader) (admission.Interface, error) { return plugin, nil })
	chain.RecommendedPluginOrder = append(chain.RecommendedPluginOrder, name)
}

// serviceResolver finds a webhook that is named by its Service: under the
// service's DNS name, since no cluster network is run here.
type serviceResolver struct{}

// ResolveEndpoint implements webhook.ServiceResolver.
func (serviceResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: fmt.Sprintf("%s.%s.svc:%d", name, namespace, port)}, nil
}
