package apiserver

import (
	"context"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/policy"
)

// newRules returns the rules of ImmutabilityPolicies, nil if the server has none. It reads the files of the rules directory.
func newRules(b start.Base) (*policies.Rules, error) {
	if b.Config.WithoutPolicies {
		return nil, nil
	}
	return policies.New(policies.Config{
		Dir: b.Config.RulesDir, Models: definitions.OpenAPIDefinitions, Namespaces: b.Clients.Informers.Core().V1().Namespaces().Lister(), Client: b.Clients.Typed,
		Authorizer: b.Generic.Authorization.Authorizer,
	})
}

// enforcePolicies creates the kind of ImmutabilityPolicies, and follows the policies. The server is ready when they are in force.
func enforcePolicies(b start.Base, served resourcesStage, rules *policies.Rules) error {
	b.Metrics.MustRegister(rules.Collectors()...)
	return served.hooks.OnStart(policy.EnforcedHook, func(hook genericapiserver.PostStartHookContext) error {
		go rules.Run(hook, policies.Sources{
			Dynamic: b.Clients.Dynamic, Definition: served.definition, DefinitionsRead: served.definitionsRead,
		})
		attemptAll(hook, attempt{"definition of ImmutabilityPolicies", func(ctx context.Context) error {
			return defineKind(ctx, b.Clients.Dynamic, policy.Definition())
		}})
		limited, cancel := context.WithTimeout(hook, startTimeout)
		defer cancel()
		rules.Loaded(limited)
		return nil
	})
}
