package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"holdfast.dev/holdfast/apiserver/builtin"
	"holdfast.dev/holdfast/apiserver/definitions"
	"holdfast.dev/holdfast/native"
)

// build assembles the server in stages: storage, identity, admission, resources,
// hooks. Each stage takes what earlier stages returned and returns a value; none
// changes what another returned. The settings of the generic server are the one
// exception: upstream's way to assemble a server is to fill them in.
func build(ctx context.Context, config Config, o *opened) (*Server, error) {
	b, err := newBase(config, o)
	if err != nil {
		return nil, err
	}
	stored, err := openStorage(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := applySettings(b); err != nil {
		return nil, err
	}
	who, err := identify(b, stored)
	if err != nil {
		return nil, err
	}
	owned, err := applyAdmission(b, who)
	if err != nil {
		return nil, err
	}
	served, err := serveResources(b, stored, who, owned)
	if err != nil {
		return nil, err
	}
	if err := addHooks(b, who, owned, served); err != nil {
		served.server.Destroy()
		return nil, err
	}
	return &Server{
		config: config, opened: o, generic: served.server, hooks: served.hooks, readiness: served.readiness,
		loopback: b.generic.LoopbackClientConfig,
	}, nil
}

// base is what every stage builds on.
type base struct {
	*opened
	config Config
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	// generic are the settings of the generic server.
	generic *genericapiserver.Config
	// clientCA verifies client certificates.
	clientCA dynamiccertificates.CAContentProvider
	// running ends when the server has stopped serving.
	running context.Context
}

func newBase(config Config, o *opened) (base, error) {
	scheme, err := newScheme()
	if err != nil {
		return base{}, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	generic := genericapiserver.NewConfig(codecs)
	serving, clientCA, err := newServing(o.listener, o.pki)
	if err != nil {
		return base{}, err
	}
	generic.SecureServing = serving
	if generic.LoopbackClientConfig, err = loopbackClient(serving, o.pki); err != nil {
		return base{}, err
	}
	generic.EffectiveVersion = newEffectiveVersion()
	generic.LegacyAPIGroupPrefixes = sets.NewString(genericapiserver.DefaultLegacyAPIPrefix)
	generic.EnableMetrics, generic.EnableProfiling = true, false
	return base{
		opened: o, config: config, scheme: scheme, codecs: codecs, generic: generic, clientCA: clientCA,
		running: wait.ContextForChannel(generic.DrainedNotify()),
	}, nil
}

// newScheme returns the Go types of the built-in kinds and of definitions.
func newScheme() (*runtime.Scheme, error) {
	scheme := native.NewScheme()
	if err := definitions.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, builtin.AddFieldSelectors(scheme)
}
