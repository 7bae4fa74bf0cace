package apiserver

import (
	"context"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/apiserver/etcd"
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
func applyHealth(config *genericapiserver.Config, client *etcd.Client) {
	asked := func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), storagebackend.DefaultHealthcheckTimeout)
		defer cancel()
		return client.Healthy(ctx, keyPrefix)
	}
	config.AddHealthChecks(healthz.NamedCheck("etcd", asked))
	config.AddReadyzChecks(healthz.NamedCheck("etcd-readiness", asked))
}
