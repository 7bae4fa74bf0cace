package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"holdfast.dev/holdfast/internal/apiserver/aggregation"
	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
	"holdfast.dev/holdfast/internal/native"
)

// base is what every stage builds on.
type base struct {
	*opened
	config Config
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	// generic are the settings of the generic server.
	generic *genericapiserver.Config
	// router sends requests for other API servers to them.
	router *aggregation.Router
	// reports answers the requests of the console.
	reports *console.Reports
	// clientCA verifies client certificates.
	clientCA dynamiccertificates.CAContentProvider
	metrics  metrics
	// running ends when the server has stopped serving.
	running context.Context
}

func newBase(config Config, o *opened) (base, error) {
	scheme, err := newScheme()
	if err != nil {
		return base{}, err
	}
	// A list is encoded object by object, as in kube-apiserver, and not as a whole in memory.
	codecs := serializer.NewCodecFactory(scheme,
		serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())
	generic := genericapiserver.NewConfig(codecs)
	serving, clientCA, err := newServing(config, o)
	if err != nil {
		return base{}, err
	}
	generic.SecureServing = serving
	if generic.LoopbackClientConfig, err = loopbackClient(serving, o.pki); err != nil {
		return base{}, err
	}
	generic.EffectiveVersion = newEffectiveVersion()
	generic.LegacyAPIGroupPrefixes = sets.NewString(genericapiserver.DefaultLegacyAPIPrefix)
	generic.EnableMetrics, generic.EnableProfiling = true, config.Profiling
	return base{
		opened: o, config: config, scheme: scheme, codecs: codecs, generic: generic, clientCA: clientCA,
		router:  &aggregation.Router{},
		reports: &console.Reports{},
		metrics: newMetrics(),
		running: wait.ContextForChannel(generic.DrainedNotify()),
	}, nil
}

// newScheme returns the Go types of the built-in kinds and of definitions.
func newScheme() (*runtime.Scheme, error) {
	scheme := native.NewScheme()
	if err := definitions.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := kubelet.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, builtin.AddFieldSelectors(scheme)
}
