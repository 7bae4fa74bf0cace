package apiserver

import (
	"fmt"
	"net/url"

	"k8s.io/apiserver/pkg/admission"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// applyAdmission puts admission in force: namespaces that are going take
// nothing new, then the webhooks and policies that users register.
func applyAdmission(config *genericapiserver.Config) (informers.SharedInformerFactory, error) {
	client, err := kubernetes.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	resolver := serviceResolver{}
	authInfo := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, nil)
	initializers := []admission.PluginInitializer{webhookinit.NewPluginInitializer(authInfo, resolver)}
	if err := options.NewAdmissionOptions().ApplyTo(config, factory, client, dynamicClient,
		utilfeature.DefaultFeatureGate, config.EffectiveVersion, initializers...); err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	return factory, nil
}

// serviceResolver finds a webhook that is named by its Service: under the
// service's DNS name, since no cluster network is run here.
type serviceResolver struct{}

// ResolveEndpoint implements webhook.ServiceResolver.
func (serviceResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: fmt.Sprintf("%s.%s.svc:%d", name, namespace, port)}, nil
}
