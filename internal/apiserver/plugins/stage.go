package plugins

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/admission"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/replace"
	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// Stage is the result of Apply.
type Stage struct {
	// Ownership checks the ownership of fields, nil if the check is off.
	Ownership *fieldownership.Checker
	// Policies has the rules of ImmutabilityPolicies, nil if the server has none.
	Policies *policies.Rules
	// Documents has the schemas that admission policies are checked with.
	Documents *Documents
	// Keep refuses to delete objects that must be kept.
	Keep *keep.Plugin
	// Replacer serves replacements. It needs the stored objects.
	Replacer *replace.Replacer
	// commands are the recorded commands, nil if the check is off.
	commands *commands
}

// Apply is the stage of admission, with the bound on nesting and the check of field
// ownership around it.
func Apply(b start.Base, identity identity.Stage, rules *policies.Rules) (Stage, error) {
	documents := newDocuments(b.Clients.Discovery.RESTClient())
	kept := keep.New(b.Generic.Authorization.Authorizer)
	if rules != nil {
		kept.SetRules(rules)
	}
	if err := applyPlugins(b, documents, newPlugins(b, identity, rules, kept)); err != nil {
		return Stage{}, err
	}
	b.Generic.AdmissionControl = nestingAdmission{b.Generic.AdmissionControl}
	applyRights(b.Generic)
	applyPolicies(b, rules)
	b.Metrics.CountRefusals(b.Generic, b.Reports.Refusals())
	replacer := replace.New(b.Codecs)
	applyReplacement(b.Generic, replacer)
	checker, commands, err := applyOwnership(b)
	if err != nil {
		return Stage{}, err
	}
	b.Generic.AdmissionControl = replacer.Admission(b.Generic.AdmissionControl)
	return Stage{Replacer: replacer, Ownership: checker, Policies: rules, Documents: documents, Keep: kept, commands: commands}, nil
}

// applyRights lets the steps of a write ask for the rights of its user. It is outside of the check of field ownership, whose
// warnings need it.
func applyRights(config *genericapiserver.Config) {
	inner, authorizer := config.BuildHandlerChainFunc, config.Authorization.Authorizer
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(rights.Filter(handler, authorizer), c)
	}
}

// applyReplacement turns replacements into creates. It is inside of the rights, which it asks for, and outside of the check of field
// ownership: a new object has no owners.
func applyReplacement(config *genericapiserver.Config, replacer *replace.Replacer) {
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(replacer.Filter(handler, c.MaxRequestBodyBytes), c)
	}
}

// applyPolicies puts the wait for the rules of policies around the handlers.
func applyPolicies(b start.Base, rules *policies.Rules) {
	inner := b.Generic.BuildHandlerChainFunc
	b.Generic.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(rules.Gate(handler, b.Codecs), c)
	}
}

// applyPlugins fills in the chain of admission plugins: those of upstream's library and
// own.
func applyPlugins(b start.Base, documents *Documents, own map[string]admission.Factory) error {
	config, clients := b.Generic, b.Clients
	chain := options.NewAdmissionOptions()
	chain.Decorators = append(admission.Decorators{withIdleWebhooks(clients)}, chain.Decorators...)
	registered := chain.RecommendedPluginOrder
	for name, create := range own {
		chain.Plugins.Register(name, create)
		registered = append(registered, name)
	}
	chain.RecommendedPluginOrder = slices.DeleteFunc(slices.Clone(pluginOrder), func(name string) bool {
		return !slices.Contains(registered, name)
	})
	if err := selectPlugins(chain, b.Config.EnableAdmission, b.Config.DisableAdmission); err != nil {
		return err
	}
	if err := chain.ApplyTo(config, clients.Informers, policyClient{clients.Typed, documents}, clients.Dynamic,
		utilfeature.DefaultFeatureGate, config.EffectiveVersion,
		webhookinit.NewPluginInitializer(WebhookAuthentication, ServiceResolver{})); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	return nil
}

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
