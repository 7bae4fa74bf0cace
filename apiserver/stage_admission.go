package apiserver

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"holdfast.dev/holdfast/access/certificate"
	"holdfast.dev/holdfast/access/node"
	"holdfast.dev/holdfast/access/rbac"
	"holdfast.dev/holdfast/access/serviceaccount"
	"holdfast.dev/holdfast/apiserver/disclosure"
	"holdfast.dev/holdfast/lifecycle/limit"
	"holdfast.dev/holdfast/lifecycle/quota"
	"holdfast.dev/holdfast/operator/enforcement"
)

const (
	// certificateRequester is the plugin that records the requester of a certificate.
	certificateRequester = "CertificateRequester"
	// roleEscalation is the plugin that refuses a role or a binding with rights that its
	// author does not have.
	roleEscalation = "RoleEscalation"
)

// applyAdmission is the stage of admission, with the check of field ownership around
// it. The order of the plugins is that of Kubernetes.
func applyAdmission(b base, who identityStage) (ownershipStage, error) {
	if err := applyPlugins(b, who); err != nil {
		return ownershipStage{}, err
	}
	applyDisclosure(b.generic)
	return applyOwnership(b)
}

// applyDisclosure puts the decision about values in messages around the handlers. It is
// outside of the check of field ownership, whose warnings need it.
func applyDisclosure(config *genericapiserver.Config) {
	inner, rights := config.BuildHandlerChainFunc, config.Authorization.Authorizer
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(disclosure.Filter(handler, rights), c)
	}
}

// applyPlugins fills in the chain of admission plugins: those of upstream, among them
// the one that keeps new objects out of terminating namespaces; limits of containers;
// service accounts of pods; the restrictions of nodes; certificates; roles; then the
// policies and webhooks that users register; the rules of operator packages; last the
// quotas.
func applyPlugins(b base, who identityStage) error {
	config, clients := b.generic, who.clients
	chain := options.NewAdmissionOptions()
	core := clients.informers.Core().V1()
	add(chain, "LimitRanger", limit.NewAdmission(core.LimitRanges(), clients.kube.CoreV1()))
	add(chain, "ServiceAccount", serviceaccount.NewAdmission(core.ServiceAccounts().Lister(), clients.kube.CoreV1()))
	add(chain, "NodeRestriction", node.NewAdmission(core.Pods().Lister(), clients.kube.CoreV1(), config.Authentication.APIAudiences))
	add(chain, certificateRequester, certificate.NewRequester())
	add(chain, "CertificateApproval", certificate.NewApproval(config.Authorization.Authorizer))
	add(chain, "CertificateSigning", certificate.NewSigning(config.Authorization.Authorizer))
	add(chain, "CertificateSubjectRestriction", certificate.NewSubject())
	add(chain, roleEscalation, rbac.NewEscalation(who.roles, config.Authorization.Authorizer, rbac.LiveRoles(clients.kube.RbacV1())))
	if !b.config.WithoutOperators {
		addOperatorAdmission(chain, clients.dynamic)
	}

	// A quota is charged for objects that will be stored, so it comes after every plugin
	// that may refuse the object.
	addLast(chain, "ResourceQuota", quota.NewAdmission(core.ResourceQuotas(), clients.kube.CoreV1()))

	if err := selectPlugins(chain, b.config.EnableAdmission, b.config.DisableAdmission); err != nil {
		return err
	}
	if err := chain.ApplyTo(config, clients.informers, policyClient{clients.kube, clients.documents}, clients.dynamic,
		utilfeature.DefaultFeatureGate, config.EffectiveVersion,
		webhookinit.NewPluginInitializer(webhookAuthentication, serviceResolver{})); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	return nil
}

// fixedPlugins are the plugins that no flag turns off. Kubernetes records the requester of a
// certificate and refuses role escalation in its registries, where no flag applies either.
// The other plugin enforces the rules of operator packages.
var fixedPlugins = []string{certificateRequester, roleEscalation, enforcement.Name}

// selectPlugins turns plugins on and off by name. It returns an error for a name that the
// server does not have: an administrator relies on a plugin that a flag enables.
func selectPlugins(chain *options.AdmissionOptions, enable, disable []string) error {
	var known []string
	for _, name := range chain.RecommendedPluginOrder {
		if !slices.Contains(fixedPlugins, name) {
			known = append(known, name)
		}
	}
	for _, flag := range []struct {
		name    string
		plugins []string
	}{{"enable-admission-plugins", enable}, {"disable-admission-plugins", disable}} {
		for _, plugin := range flag.plugins {
			if !slices.Contains(known, plugin) {
				return fmt.Errorf("--%s: no plugin %q here: there are %s", flag.name, plugin, strings.Join(known, ", "))
			}
			if slices.Contains(enable, plugin) && slices.Contains(disable, plugin) {
				return fmt.Errorf("--%s: %q is both enabled and disabled", flag.name, plugin)
			}
		}
	}
	chain.EnablePlugins, chain.DisablePlugins = enable, disable
	return nil
}

// add puts a plugin of ours before the policies and webhooks that users register, and
// after the plugins of ours that were added before.
func add(chain *options.AdmissionOptions, name string, plugin admission.Interface) {
	chain.Plugins.Register(name, func(io.Reader) (admission.Interface, error) { return plugin, nil })
	users := slices.Index(chain.RecommendedPluginOrder, mutating.PluginName)
	chain.RecommendedPluginOrder = slices.Insert(chain.RecommendedPluginOrder, users, name)
}

// addLast puts a plugin of ours after all others.
func addLast(chain *options.AdmissionOptions, name string, plugin admission.Interface) {
	chain.Plugins.Register(name, func(io.Reader) (admission.Interface, error) { return plugin, nil })
	chain.RecommendedPluginOrder = append(chain.RecommendedPluginOrder, name)
}
