package apiserver

import (
	"fmt"
	"net/http"
	"time"

	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"holdfast.dev/holdfast/native"
	"holdfast.dev/holdfast/native/openapi"
)

const requestTimeout = 60 * time.Second

// applyLimits bounds what clients can ask for at one time.
func applyLimits(config *genericapiserver.Config) {
	config.RequestTimeout = requestTimeout
	config.MaxRequestsInFlight, config.MaxMutatingRequestsInFlight = 400, 200
	config.ShutdownWatchTerminationGracePeriod = watchDrain
	config.ShutdownSendRetryAfter = true
}

// applyOpenAPI publishes the schema of the built-in kinds in both versions;
// server-side apply takes its types from the second.
func applyOpenAPI(config *genericapiserver.Config) {
	namer := openapinamer.NewDefinitionNamer(native.NewPublishedScheme())
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "Holdfast"
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "Holdfast"
}

// applyHealth makes readiness and liveness depend on etcd.
func applyHealth(config *genericapiserver.Config, storage storagebackend.Config) error {
	healthy, err := factory.CreateHealthCheck(storage, config.DrainedNotify())
	if err != nil {
		return fmt.Errorf("etcd health check: %w", err)
	}
	ready, err := factory.CreateReadyCheck(storage, config.DrainedNotify())
	if err != nil {
		return fmt.Errorf("etcd ready check: %w", err)
	}
	config.AddHealthChecks(healthz.NamedCheck("etcd", func(*http.Request) error { return healthy() }))
	config.AddReadyzChecks(healthz.NamedCheck("etcd-readiness", func(*http.Request) error { return ready() }))
	return nil
}
