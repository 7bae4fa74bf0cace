package apiserver

import (
	"context"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/plugins"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// applyConsole answers requests for reports, after authorization. Requests for aggregated APIs do
// not come this far.
func applyConsole(b start.Base) {
	if !b.Config.Console {
		return
	}
	inner := b.Generic.BuildHandlerChainFunc
	b.Generic.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(b.Reports.Wrap(next), c)
	}
}

// consoleSources returns what the server knows about objects.
func consoleSources(b start.Base, identity identity.Stage, admission plugins.Stage, resources *custom.Server) console.Sources {
	sources := console.Sources{
		Scheme: b.Scheme, Ownership: admission.Ownership, Custom: resources,
		Policies: admission.Policies, Rights: identity.Authorizer,
		Versions: console.Versions{
			Namespace: func(ctx context.Context, name string) (*corev1.Namespace, error) {
				return b.Clients.Typed.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			},
			References: b.References,
		},
	}
	if !b.Config.WithoutReferences {
		sources.Versions.UID = b.References.UID
	}
	if !b.Config.WithoutOperators {
		sources.Packages = &console.Packages{
			Version: instance.LiveVersions(b.Clients.Dynamic), Rights: identity.Authorizer,
		}
	}
	return sources
}

// serveConsole serves the page of the console.
func (i installer) serveConsole(sources console.Sources) {
	if !i.Config.Console {
		return
	}
	i.Reports.Start(sources)
	mux := i.server.Handler.NonGoRestfulMux
	mux.Handle(strings.TrimSuffix(console.Path, "/"), console.Redirect())
	mux.HandlePrefix(console.Path, console.Files())
	mux.Handle(console.RefusedPath, i.Reports.Refused())
}
