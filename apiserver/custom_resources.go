package apiserver

import (
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/kube-openapi/pkg/builder3"

	"holdfast.dev/holdfast/apiserver/custom"
)

// minWatch is the least time that a watch of custom resources is kept open, as
// for built-in kinds.
const minWatch = 30 * time.Minute

// serveCustom serves the custom resources that the definitions define, on every
// path below /apis that no built-in kind has.
func (s *Server) serveCustom(config *genericapiserver.Config, i installer, documents *openAPIDocuments) error {
	models, err := builder3.BuildOpenAPIDefinitionsForResources(config.OpenAPIV3Config,
		metav1.ObjectMeta{}.OpenAPIModelName(), autoscalingv1.Scale{}.OpenAPIModelName())
	if err != nil {
		return fmt.Errorf("models of custom resources: %w", err)
	}
	resources, err := custom.New(custom.Config{
		Definitions:        i.definitions.Store,
		DefinitionsStatus:  i.definitionsStatus.store,
		RESTOptions:        i.options,
		Admission:          config.AdmissionControl,
		Authorizer:         config.Authorization.Authorizer,
		Services:           serviceResolver{},
		WebhookAuth:        webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, nil),
		Models:             models,
		Groups:             s.generic.DiscoveryGroupManager,
		Aggregated:         s.generic.AggregatedDiscoveryGroupManager,
		Guard:              i.guard,
		ImmutabilityStatus: s.config.ImmutabilityStatus,
		MinWatch:           minWatch,
		MaxBody:            config.MaxRequestBodyBytes,
	})
	if err != nil {
		return fmt.Errorf("custom resources: %w", err)
	}
	i.definitions.settle = resources.Settle
	s.generic.RegisterDestroyFunc(resources.Destroy)
	s.generic.Handler.NonGoRestfulMux.HandlePrefix("/apis/", resources)
	// Until the definitions are read, a path below /apis is not missing but not
	// known yet.
	read := make(chan struct{})
	if err := s.generic.RegisterMuxAndDiscoveryCompleteSignal("DefinitionsRead", read); err != nil {
		return err
	}
	return s.onStart("follow-definitions", func(hook genericapiserver.PostStartHookContext) error {
		resources.Publish(s.generic.OpenAPIVersionedService, s.generic.OpenAPIV3VersionedService, s.generic.StaticOpenAPISpec)
		documents.custom.Store(resources)
		if err := resources.Start(hook); err != nil {
			return err
		}
		close(read)
		return nil
	})
}
