package apiserver

import (
	"fmt"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/names"

	"holdfast.dev/holdfast/native"
)

// eventSeconds is how long an event is kept, as in Kubernetes.
const eventSeconds = 3600

// resources maps a resource or subresource, "pods" or "pods/status", to what
// serves it.
type resources map[string]rest.Storage

// installer opens the registries of the built-in kinds and installs their groups.
type installer struct {
	scheme  *runtime.Scheme
	codecs  serializer.CodecFactory
	options generic.RESTOptionsGetter
}

// install serves every built-in kind from server.
func (i installer) install(server *genericapiserver.GenericAPIServer) error {
	var order []schema.GroupVersion
	groups := map[schema.GroupVersion]resources{}
	add := func(gv schema.GroupVersion, served resources) {
		if groups[gv] == nil {
			order = append(order, gv)
			groups[gv] = resources{}
		}
		for name, storage := range served {
			groups[gv][name] = storage
		}
	}
	for _, kind := range native.Kinds() {
		served, err := i.open(kind)
		if err != nil {
			return err
		}
		add(kind.GroupVersion, served)
		if kind.Resource == "events" {
			add(eventsv1.SchemeGroupVersion, served)
		}
	}

	var named []*genericapiserver.APIGroupInfo
	for _, gv := range order {
		info := genericapiserver.NewDefaultAPIGroupInfo(gv.Group, i.scheme, metav1.ParameterCodec, i.codecs)
		info.PrioritizedVersions = []schema.GroupVersion{gv}
		info.VersionedResourcesStorageMap[gv.Version] = groups[gv]
		if gv.Group != "" {
			named = append(named, &info)
			continue
		}
		if err := server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, &info); err != nil {
			return fmt.Errorf("install core group: %w", err)
		}
	}
	if err := server.InstallAPIGroups(named...); err != nil {
		return fmt.Errorf("install groups: %w", err)
	}
	return nil
}

// open makes the registry of a kind and those of its subresources.
func (i installer) open(kind native.Kind) (resources, error) {
	base, err := newKindREST(kind, i.scheme, i.options)
	if err != nil {
		return nil, err
	}
	s := strategy{ObjectTyper: i.scheme, NameGenerator: names.SimpleNameGenerator, kind: kind}
	served := resources{kind.Resource: base}
	if kind.Status {
		served[kind.Resource+"/status"] = newStatusREST(base.Store, s)
	}
	if kind.Scale != nil {
		served[kind.Resource+"/scale"] = &scaleREST{store: base.Store, kind: kind}
	}
	switch kind.Resource {
	case "namespaces":
		served["namespaces"] = newNamespaceREST(base)
		served["namespaces/finalize"] = newFinalizeREST(base, s)
	case "pods":
		served["pods/binding"] = &bindingREST{pods: base.Store}
	case "events":
		base.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return eventSeconds, nil }
	}
	return served, nil
}
