package apiserver

import (
	"context"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/aggregation"
	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// applyAggregation forwards the requests for aggregated APIs directly after authorization. The
// later filters are not for them: these filters check bodies that this server decodes.
func applyAggregation(b start.Base) {
	inner := b.Generic.BuildHandlerChainFunc
	b.Generic.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(b.Router.Wrap(next), c)
	}
}

// newRegistrar returns the controller of the local APIServices, with the versions of the built-in
// kinds.
func (i installer) newRegistrar(registries *builtin.Registries) (*aggregation.Registrar, error) {
	client, err := apiregistrationclient.NewForConfigAndClient(i.Generic.LoopbackClientConfig, i.Clients.HTTP)
	if err != nil {
		return nil, err
	}
	registrar, err := aggregation.NewRegistrar(registries.Stores[apiregistrationv1.Resource("apiservices")], client)
	if err != nil {
		return nil, err
	}
	versions := sets.New(authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion)
	versions.Insert(definitions.Versions...)
	for _, kind := range registries.Kinds {
		versions.Insert(kind.Versions...)
	}
	// As in Kubernetes, the group apiregistration.k8s.io itself has no APIService.
	versions.Delete(apiregistrationv1.SchemeGroupVersion)
	for gv := range versions {
		registrar.AddBuiltIn(gv)
	}
	return registrar, nil
}

// registerLocalAPIs writes the local APIServices, once the server has read the definitions and
// closed read.
func (i installer) registerLocalAPIs(registrar *aggregation.Registrar, read <-chan struct{}) error {
	registrar.Prioritize(i.server.AggregatedDiscoveryGroupManager.WithSource(aggregated.BuiltinSource))
	return i.hooks.InBackground("register-local-apis", func(ctx context.Context) { registrar.Run(ctx, read) })
}

// serveAggregatedAPIs serves the APIs of other servers.
func (i installer) serveAggregatedAPIs(registries *builtin.Registries, documents foreignDocuments) error {
	client, err := apiregistrationclient.NewForConfigAndClient(i.Generic.LoopbackClientConfig, i.Clients.HTTP)
	if err != nil {
		return err
	}
	files := proxyClient(i.Base)
	identity, err := dynamiccertificates.NewDynamicServingContentFromFiles("front-proxy", files.CertFile, files.KeyFile)
	if err != nil {
		return fmt.Errorf("client certificate for aggregated API servers: %w", err)
	}
	server := aggregation.New(aggregation.Config{
		Router: i.Router, Store: registries.Stores[apiregistrationv1.Resource("apiservices")], Client: client, Kube: i.Clients.Typed,
		Identity: identity, Groups: i.server.DiscoveryGroupManager, Aggregated: i.server.AggregatedDiscoveryGroupManager, Documents: documents,
	})
	// Until the APIServices are read, the server cannot know whether a path below /apis exists.
	read := make(chan struct{})
	if err := i.server.RegisterMuxAndDiscoveryCompleteSignal("APIServicesRead", read); err != nil {
		return err
	}
	return i.hooks.OnStart("follow-apiservices", func(hook genericapiserver.PostStartHookContext) error {
		if err := server.Start(hook); err != nil {
			return err
		}
		close(read)
		return nil
	})
}

// foreignDocuments publishes the OpenAPI documents of other servers.
type foreignDocuments struct {
	*documents
	custom *custom.Server
}

// SetV3 implements aggregation.Publisher.
func (d foreignDocuments) SetV3(gv schema.GroupVersion, document *spec3.OpenAPI) {
	d.set(d.foreign, "apis/"+gv.String(), openapi.NewV3(nil, document.MarshalJSON))
}

// RemoveV3 implements aggregation.Publisher.
func (d foreignDocuments) RemoveV3(gv schema.GroupVersion) {
	d.set(d.foreign, "apis/"+gv.String(), nil)
}

// SetV2 implements aggregation.Publisher.
func (d foreignDocuments) SetV2(documents []*spec.Swagger) { d.custom.MergeOpenAPI(documents) }
