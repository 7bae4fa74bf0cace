package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	flowcontrolmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/fairness"
	"holdfast.dev/holdfast/internal/apiserver/handover"
	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/apiserver/requestbody"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/apiserver/watches"
	"holdfast.dev/holdfast/internal/native"
)

// watchDrain is the part of a shutdown in which the server ends open watches.
const watchDrain = time.Second

// applySettings fills in the settings that depend on no stage: the version, audit, limits, OpenAPI,
// health, priority levels, the reports of the console, the answers about references, and the filter of requests with CustomResourceDefinitions.
func applySettings(b start.Base) error {
	applyCancellation(b.Generic)
	if err := applyAudit(b.Generic, b.Config.Audit); err != nil {
		return err
	}
	b.Generic.EffectiveVersion = newEffectiveVersion()
	applyLimits(b.Generic, b.Config)
	applyOpenAPI(b.Generic)
	applyHealth(b.Generic, b.Etcd)
	applyAggregation(b)
	applyConsole(b)
	applyReferences(b)
	applyNestingBound(b.Generic)
	if err := applyDefinitionFilter(b.Generic, b.Codecs); err != nil {
		return err
	}
	applyFairness(b.Generic, b.Clients)
	return nil
}

// applyReferences answers requests for the references to ConfigMaps and Secrets, after authorization.
func applyReferences(b start.Base) {
	inner := b.Generic.BuildHandlerChainFunc
	b.Generic.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(b.References.Wrap(next), c)
	}
}

// applyAudit makes the server log the requests that the policy names.
func applyAudit(generic *genericapiserver.Config, audit config.Audit) error {
	if audit.PolicyFile == "" {
		return nil
	}
	settings := audit.Options
	if settings == nil {
		settings = options.NewAuditOptions()
	}
	settings.PolicyFile, settings.LogOptions.Path = audit.PolicyFile, audit.LogPath
	if errs := settings.Validate(); len(errs) > 0 {
		return fmt.Errorf("audit: %w", errors.Join(errs...))
	}
	if err := settings.ApplyTo(generic); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// applyCancellation ends the work for a request when its client cancels it. All filters that are added
// later are outside of Detach or inside of Attach, and see the context of the client.
func applyCancellation(config *genericapiserver.Config) {
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return fairness.Detach(inner(fairness.Attach(next), c))
	}
}

// applyWatches lets the filters of a watch end when the watch has begun, and serves the usual watches of built-in kinds. It goes around all other
// filters, and is the last one in front of the handlers.
func applyWatches(config *genericapiserver.Config, server *watches.Server) {
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		into := handover.Into(server.Wrap(next), handover.Config{
			Resolver: c.RequestInfoResolver, Group: c.WatchRequestWaitGroup, IsAudited: c.AuditBackend != nil,
		})
		return handover.Around(inner(into, c))
	}
}

// applyFairness limits concurrent requests by priority levels. The server receives the body
// of a request before the request counts against the limit.
func applyFairness(config *genericapiserver.Config, clients *start.Clients) {
	// The library sets the metrics before it registers them, which is a race between two
	// servers in one process.
	flowcontrolmetrics.Register()
	seats := config.MaxRequestsInFlight + config.MaxMutatingRequestsInFlight
	config.FlowControl = handover.Count(fairness.NewFlowControl(flowcontrol.New(clients.Informers, clients.Typed.FlowcontrolV1(), seats)))
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return fairness.WithBodies(inner(next, c), c.MaxRequestBodyBytes)
	}
}

// applyNestingBound refuses bodies that are nested too deep, after authorization and before
// any other filter or handler decodes them.
func applyNestingBound(config *genericapiserver.Config) {
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(requestbody.Bound(next, c.MaxRequestBodyBytes), c)
	}
}

// applyDefinitionFilter puts the filter of requests with definitions around the
// handlers.
func applyDefinitionFilter(config *genericapiserver.Config, codecs serializer.CodecFactory) error {
	filter, err := definitions.NewFilter(codecs)
	if err != nil {
		return err
	}
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(filter.Wrap(next, c.MaxRequestBodyBytes), c)
	}
	return nil
}

// applyLimits bounds the number of requests in flight and their time.
func applyLimits(config *genericapiserver.Config, from Config) {
	config.RequestTimeout = from.Limits.RequestTimeout
	config.MaxRequestsInFlight, config.MaxMutatingRequestsInFlight = from.Limits.Requests, from.Limits.MutatingRequests
	config.ShutdownDelayDuration = from.ShutdownDelay
	config.ShutdownWatchTerminationGracePeriod = watchDrain
	config.ShutdownSendRetryAfter = true
	// RequestTimeout does not apply to long-running requests.
	config.LongRunningFunc = maintenance.WithLongBackups(filters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"), sets.NewString("attach", "exec", "proxy", "log", "portforward")))
}

// applyOpenAPI publishes the schemas of the built-in kinds in OpenAPI v2 and v3.
// Server-side apply takes its types from v3.
func applyOpenAPI(config *genericapiserver.Config) {
	scheme := native.NewPublishedScheme()
	// Definitions are published as the Go types of Kubernetes, which clients know.
	scheme.AddKnownTypes(apiextensionsv1.SchemeGroupVersion,
		&apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinitionList{})
	scheme.AddKnownTypes(apiextensionsv1beta1.SchemeGroupVersion,
		&apiextensionsv1beta1.CustomResourceDefinition{}, &apiextensionsv1beta1.CustomResourceDefinitionList{})
	namer, models := openapinamer.NewDefinitionNamer(scheme), definitions.Models()
	nameOf := func(name string) (string, spec.Extensions) {
		if model, ok := models[name]; ok {
			name = model
		}
		return namer.GetDefinitionName(name)
	}
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions.OpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "Holdfast"
	config.OpenAPIConfig.GetDefinitionName = nameOf
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions.OpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "Holdfast"
	config.OpenAPIV3Config.GetDefinitionName = nameOf
	// publishOpenAPI serves the documents.
	config.SkipOpenAPIInstallation = true
}

// applyHealth makes readiness and liveness depend on etcd.
func applyHealth(config *genericapiserver.Config, client *etcd.Client) {
	healthy := func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), storagebackend.DefaultHealthcheckTimeout)
		defer cancel()
		return client.Healthy(ctx, storage.KeyPrefix)
	}
	config.AddHealthChecks(healthz.NamedCheck("etcd", healthy))
	config.AddReadyzChecks(healthz.NamedCheck("etcd-readiness", healthy))
}
