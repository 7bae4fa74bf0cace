package apiserver

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/component-base/featuregate"

	"holdfast.dev/holdfast/apiserver/etcd"
	"holdfast.dev/holdfast/apiserver/guard"
	"holdfast.dev/holdfast/apiserver/selection"
	"holdfast.dev/holdfast/definition"
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
	etcd    *etcd.Client
	tokens  *tokens
	guard   *guard.Guard
	// features are those of the kinds.
	features featuregate.FeatureGate
	// used are the objects that each node uses.
	used *selection.Selection
	// definitions and their status are opened before the rest.
	definitions       *definitionREST
	definitionsStatus *statusREST
}

// install serves every built-in kind from server, and gives their registries.
func (i installer) install(server *genericapiserver.GenericAPIServer) (map[schema.GroupResource]*genericregistry.Store, error) {
	stores := map[schema.GroupResource]*genericregistry.Store{}
	groups := map[string]*genericapiserver.APIGroupInfo{}
	var order []*genericapiserver.APIGroupInfo
	for _, kind := range native.Kinds() {
		base, err := newKindREST(i.strategy(kind.Under(i.features)), i.options)
		if err != nil {
			return nil, err
		}
		stores[kind.GroupResource()] = base.Store
		served := i.serve(base)
		for _, gv := range append([]schema.GroupVersion{kind.GroupVersion}, kind.Views...) {
			if groups[gv.Group] == nil {
				groups[gv.Group] = i.newGroup(gv.Group)
				order = append(order, groups[gv.Group])
			}
			addTo(groups[gv.Group], gv, served)
		}
	}
	if err := i.allot(server, stores); err != nil {
		return nil, err
	}
	err := server.AddPostStartHook("bookmark-used-objects", func(hook genericapiserver.PostStartHookContext) error {
		go i.used.Run(hook)
		return nil
	})
	if err != nil {
		return nil, err
	}
	order = append(order, i.definitionGroup())
	if err := server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, groups[corev1.GroupName]); err != nil {
		return nil, fmt.Errorf("install core group: %w", err)
	}
	named := slices.DeleteFunc(order, func(info *genericapiserver.APIGroupInfo) bool { return info == groups[corev1.GroupName] })
	if err := server.InstallAPIGroups(named...); err != nil {
		return nil, fmt.Errorf("install groups: %w", err)
	}
	return stores, nil
}

func (i installer) newGroup(group string) *genericapiserver.APIGroupInfo {
	info := genericapiserver.NewDefaultAPIGroupInfo(group, i.scheme, metav1.ParameterCodec, i.codecs)
	info.PrioritizedVersions = nil
	return &info
}

// definitionGroup is the group of CustomResourceDefinitions, in both versions.
func (i installer) definitionGroup() *genericapiserver.APIGroupInfo {
	info := i.newGroup(definition.GroupName)
	info.NegotiatedSerializer = definitionCodecs{i.codecs}
	for _, version := range []string{definition.V1, definition.V1beta1} {
		addTo(info, schema.GroupVersion{Group: definition.GroupName, Version: version}, resources{
			definitionResource.Resource:             i.definitions,
			definitionResource.Resource + "/status": i.definitionsStatus,
		})
	}
	return info
}

// addTo serves resources in one version of a group; the first version of a
// group that is added is the preferred one.
func addTo(info *genericapiserver.APIGroupInfo, gv schema.GroupVersion, served resources) {
	if info.VersionedResourcesStorageMap[gv.Version] == nil {
		info.VersionedResourcesStorageMap[gv.Version] = resources{}
		info.PrioritizedVersions = append(info.PrioritizedVersions, gv)
	}
	maps.Copy(info.VersionedResourcesStorageMap[gv.Version], served)
}

func (i installer) strategy(kind native.Kind) strategy {
	return strategy{ObjectTyper: i.scheme, NameGenerator: names.SimpleNameGenerator, kind: kind, guard: i.guard}
}

// serve gives a kind its subresources.
func (i installer) serve(base *kindREST) resources {
	kind := base.kind
	s := i.strategy(kind)
	served := resources{kind.Resource: base}
	// Subresources work on copies of the store, so what is particular to it
	// comes first.
	switch kind.Resource {
	case "namespaces":
		served["namespaces"] = newNamespaceREST(base)
		served["namespaces/finalize"] = newFinalizeREST(base, s)
	case "configmaps", "secrets":
		served[kind.Resource] = &usedREST{kindREST: base, used: i.used}
	case "serviceaccounts":
		served["serviceaccounts/token"] = i.tokens.requests
	case "pods":
		served["pods/binding"] = &bindingREST{pods: base.Store}
	case "events":
		base.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return eventSeconds, nil }
	}
	switch {
	case kind.Resource == "certificatesigningrequests":
		served[kind.Resource+"/status"] = newStatusREST(base.Store, answerStrategy{statusStrategy{s}})
		served[kind.Resource+"/approval"] = newStatusREST(base.Store, approvalStrategy{statusStrategy{s}})
	case kind.Status:
		served[kind.Resource+"/status"] = newStatusREST(base.Store, statusStrategy{s})
	}
	if kind.Scale != nil {
		served[kind.Resource+"/scale"] = &scaleREST{store: base.Store, kind: kind}
	}
	return served
}

// allot makes the store of Services hand out cluster IPs and node ports.
func (i installer) allot(server *genericapiserver.GenericAPIServer, stores map[schema.GroupResource]*genericregistry.Store) error {
	ports := schema.GroupResource{Group: networkingv1.GroupName, Resource: "nodeports"}
	options, err := i.options.GetRESTOptions(ports, &networkingv1.IPAddress{})
	if err != nil {
		return err
	}
	storage, destroy, err := i.etcd.Storage(options.StorageConfig,
		func() runtime.Object { return &networkingv1.IPAddress{} },
		func() runtime.Object { return &networkingv1.IPAddressList{} }, "/"+ports.Resource)
	if err != nil {
		return fmt.Errorf("open claims of node ports: %w", err)
	}
	server.RegisterDestroyFunc(destroy)

	services := stores[corev1.Resource("services")]
	a := &allotment{
		services:  services,
		addresses: claims{storage: stores[networkingv1.Resource("ipaddresses")].Storage, prefix: "/ipaddresses/"},
		ports: claims{
			storage: genericregistry.DryRunnableStorage{Storage: storage, Codec: options.StorageConfig.Codec},
			prefix:  "/" + ports.Resource + "/",
		},
	}
	services.BeginCreate, services.BeginUpdate = a.beginCreate, a.beginUpdate
	services.AfterDelete = func(obj runtime.Object, options *metav1.DeleteOptions) {
		a.afterDelete(obj, options)
		i.guard.AfterDelete(obj, options)
	}
	return server.AddPostStartHook("repair-services", func(hook genericapiserver.PostStartHookContext) error {
		go a.repairUntil(hook)
		return nil
	})
}
