package apiserver

import (
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder3"

	"holdfast.dev/holdfast/internal/apiserver/aggregation"
	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/plugins"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
)

// minWatch is the least time that a watch of custom resources is kept open, as
// for built-in kinds.
const minWatch = 30 * time.Minute

// newCustomResources returns the server of custom resources. It serves nothing yet.
func (i installer) newCustomResources(
	store *genericregistry.Store, status *subresource.Status, admission plugins.Stage, registrar *aggregation.Registrar,
) (*custom.Server, error) {
	models, err := builder3.BuildOpenAPIDefinitionsForResources(i.Generic.OpenAPIV3Config,
		metav1.ObjectMeta{}.OpenAPIModelName(), autoscalingv1.Scale{}.OpenAPIModelName())
	if err != nil {
		return nil, fmt.Errorf("models of custom resources: %w", err)
	}
	resources, err := custom.New(custom.Config{
		Definitions:       store,
		DefinitionsStatus: status.Store(),
		RESTOptions:       i.Generic.RESTOptionsGetter,
		Admission:         i.Generic.AdmissionControl,
		Authorizer:        i.Generic.Authorization.Authorizer,
		Services:          plugins.ServiceResolver{},
		WebhookAuth:       plugins.WebhookAuthentication,
		Models:            models,
		Groups:            i.server.DiscoveryGroupManager,
		Aggregated:        i.server.AggregatedDiscoveryGroupManager,
		Registered: func(group string, versions []string) {
			registrar.SetCustom(group, versions)
			admission.Policies.Changed()
		},
		Ownership:          admission.Ownership,
		Policies:           admission.Policies,
		Keep:               admission.Keep.CheckObject,
		Revision:           i.Config.Revision,
		ImmutabilityStatus: i.Config.ImmutabilityStatus,
		MinWatch:           minWatch,
		MaxBody:            i.Generic.MaxRequestBodyBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("custom resources: %w", err)
	}
	return resources, nil
}

// serveCustomResources serves custom resources on every path below /apis that no
// built-in kind has. It closes read when the stored definitions are served.
func (i installer) serveCustomResources(resources *custom.Server, documents *plugins.Documents, read chan struct{}) (published, error) {
	i.server.RegisterDestroyFunc(resources.Destroy)
	schemas := publishOpenAPI(i.server, i.Generic)
	resources.Publish(schemas, schemas.static)
	i.server.Handler.NonGoRestfulMux.HandlePrefix("/apis/", resources)
	// Until the definitions are read, the server cannot know whether a path below /apis
	// exists; it answers 503 then, not 404.
	if err := i.server.RegisterMuxAndDiscoveryCompleteSignal("DefinitionsRead", read); err != nil {
		return published{}, err
	}
	return schemas, i.hooks.OnStart("follow-definitions", func(hook genericapiserver.PostStartHookContext) error {
		documents.AddCustom(resources)
		if err := resources.Start(hook); err != nil {
			return err
		}
		close(read)
		return nil
	})
}
