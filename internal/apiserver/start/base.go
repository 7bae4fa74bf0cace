package start

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
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/apiserver/refused"
	"holdfast.dev/holdfast/internal/native"
)

// Base is what every stage builds on.
type Base struct {
	*Opened
	// Config is the configuration of the server, with its defaults.
	Config config.Server
	// Scheme has the Go types of the built-in kinds and of definitions.
	Scheme *runtime.Scheme
	// Codecs decode and encode these types.
	Codecs serializer.CodecFactory
	// Generic are the settings of the generic server.
	Generic *genericapiserver.Config
	// Clients are the clients of the server's own API.
	Clients *Clients
	// Router sends requests for other API servers to them.
	Router *aggregation.Router
	// Reports answers the requests of the console.
	Reports *console.Reports
	// References says which objects refer to ConfigMaps and Secrets.
	References *referrers.Index
	// ClientCA verifies client certificates.
	ClientCA dynamiccertificates.CAContentProvider
	// Metrics are Holdfast's own metrics of this server.
	Metrics Metrics
	// Running ends when the server has stopped serving.
	Running context.Context
}

// NewBase returns the base of a server. Its settings have TLS and the loopback client, and the stages add the others.
func NewBase(config config.Server, o *Opened) (Base, error) {
	scheme, err := newScheme()
	if err != nil {
		return Base{}, err
	}
	// A list is encoded object by object, as in kube-apiserver, and not as a whole in memory.
	codecs := serializer.NewCodecFactory(scheme,
		serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())
	generic := genericapiserver.NewConfig(codecs)
	serving, clientCA, err := newServing(config, o)
	if err != nil {
		return Base{}, err
	}
	generic.SecureServing = serving
	if generic.LoopbackClientConfig, err = loopbackClient(serving, o.PKI); err != nil {
		return Base{}, err
	}
	clients, err := newClients(generic.LoopbackClientConfig)
	if err != nil {
		return Base{}, err
	}
	generic.LegacyAPIGroupPrefixes = sets.NewString(genericapiserver.DefaultLegacyAPIPrefix)
	generic.EnableMetrics, generic.EnableProfiling = true, config.Profiling
	return Base{
		Opened: o, Config: config, Scheme: scheme, Codecs: codecs, Generic: generic, ClientCA: clientCA, Clients: clients,
		Router:  &aggregation.Router{},
		Reports: newReports(config), References: referrers.New(),
		Metrics: newMetrics(),
		Running: wait.ContextForChannel(generic.DrainedNotify()),
	}, nil
}

// newReports returns what answers the requests of the console. Only a server with the console records refused writes.
func newReports(config config.Server) *console.Reports {
	if !config.Console {
		return &console.Reports{}
	}
	return console.NewReports(&refused.Record{})
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
