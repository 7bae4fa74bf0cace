package apiserver

import (
	"context"

	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/plugins"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// addHooks is the last stage: it registers what runs once the server listens, and
// before it shuts down. The server is ready when all start hooks have returned.
func addHooks(b start.Base, identity identity.Stage, admission plugins.Stage, served resourcesStage) error {
	h, loopback := served.hooks, b.Generic.LoopbackClientConfig
	// The hooks start the informers.
	b.Clients.ReadFrom(served.source)
	publisher, err := newPublisher(b, h, b.Clients.Typed, admission.Policies)
	if err != nil {
		return err
	}
	bootstrapped, err := bootstrap(b, identity, h, publisher)
	if err != nil {
		return err
	}
	if err := publishTrust(b, h, bootstrapped); err != nil {
		return err
	}
	if err := identity.FollowRevocations(b, h); err != nil {
		return err
	}
	if err := admission.RememberCommands(h, fieldownership.LookupAt(b.Clients.HTTP, loopback.Host)); err != nil {
		return err
	}
	led := []func(context.Context){func(ctx context.Context) { admission.RunPolicyStatus(ctx, b.Clients) }, served.validity.Run}
	if rules := admission.Policies; rules != nil {
		if err := enforcePolicies(b, served, rules); err != nil {
			return err
		}
		led = append(led, func(ctx context.Context) { rules.WriteStatus(ctx, b.Clients.Dynamic) })
	}
	// Controllers of operator packages, if this server runs them.
	if !b.Config.WithoutOperators {
		// operatorKinds is closed when the kinds of operator packages are served.
		operatorKinds := make(chan struct{})
		if err := addOperatorKinds(h, b.Clients.Dynamic, served.definitionsRead, operatorKinds); err != nil {
			return err
		}
		led = append(led, func(ctx context.Context) { runOperators(ctx, b, identity, operatorKinds) })
	}
	if err := addControllers(b, served, bootstrapped, led); err != nil {
		return err
	}
	return h.Install()
}
