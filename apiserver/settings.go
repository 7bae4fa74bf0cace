package apiserver

import (
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/native"
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
	scheme := native.NewPublishedScheme()
	// Definitions are published as the types that clients know.
	scheme.AddKnownTypes(apiextensionsv1.SchemeGroupVersion, &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinitionList{})
	scheme.AddKnownTypes(apiextensionsv1beta1.SchemeGroupVersion, &apiextensionsv1beta1.CustomResourceDefinition{}, &apiextensionsv1beta1.CustomResourceDefinitionList{})
	namer, models := openapinamer.NewDefinitionNamer(scheme), definitionModels()
	nameOf := func(name string) (string, spec.Extensions) {
		if model, ok := models[name]; ok {
			name = model
		}
		return namer.GetDefinitionName(name)
	}
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "Holdfast"
	config.OpenAPIConfig.GetDefinitionName = nameOf
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "Holdfast"
	config.OpenAPIV3Config.GetDefinitionName = nameOf
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
