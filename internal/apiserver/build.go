package apiserver

import (
	"context"

	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/plugins"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// build assembles the server in stages: storage, identity, admission, resources, hooks.
// Each stage takes the base and the results of earlier stages, and returns a result. No
// stage changes the result of another. The settings of the generic server are the one
// exception: upstream's way to assemble a server is to fill them in.
func build(ctx context.Context, b start.Base) (resourcesStage, error) {
	stored, err := openStorage(ctx, b)
	if err != nil {
		return resourcesStage{}, err
	}
	if err := applySettings(b); err != nil {
		return resourcesStage{}, err
	}
	identity, err := identity.Apply(b, stored.usage)
	if err != nil {
		return resourcesStage{}, err
	}
	rules, err := newRules(b)
	if err != nil {
		return resourcesStage{}, err
	}
	admission, err := plugins.Apply(b, identity, rules)
	if err != nil {
		return resourcesStage{}, err
	}
	served, err := serveResources(b, stored, identity, admission)
	if err != nil {
		return resourcesStage{}, err
	}
	if err := addHooks(b, identity, admission, served); err != nil {
		served.server.Destroy()
		return resourcesStage{}, err
	}
	return served, nil
}
