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
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"

	"holdfast.dev/holdfast/apiserver/builtin"
	"holdfast.dev/holdfast/apiserver/definitions"
	"holdfast.dev/holdfast/apiserver/serviceip"
	"holdfast.dev/holdfast/apiserver/storage"
	"holdfast.dev/holdfast/apiserver/subresource"
	"holdfast.dev/holdfast/definition"
)

// resourcesStage is the generic server with everything that it serves.
type resourcesStage struct {
	server    *genericapiserver.GenericAPIServer
	hooks     *hooks
	readiness *storage.Readiness
}

// serveResources is the stage that opens the registries and installs them. On an
// error it leaves nothing open.
func serveResources(b base, stored storageStage, who identity, owned ownershipStage) (_ resourcesStage, err error) {
	server, err := b.generic.Complete(who.clients.informers).New("holdfast", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return resourcesStage{}, fmt.Errorf("build server: %w", err)
	}
	defer func() {
		if err != nil {
			server.Destroy()
		}
	}()
	i := installer{base: b, server: server, hooks: newHooks(server)}
	store, status, err := definitions.Open(b.scheme, b.generic.RESTOptionsGetter, owned.checker)
	if err != nil {
		return resourcesStage{}, err
	}
	registries, err := builtin.Open(builtin.Config{
		Scheme: b.scheme, Options: b.generic.RESTOptionsGetter, Ownership: owned.checker, Features: b.config.Features,
		Selection: stored.selection, TokenRequests: who.tokens.requests,
	})
	if err != nil {
		return resourcesStage{}, err
	}
	if err := i.hooks.inBackground("bookmark-used-objects", stored.selection.Run); err != nil {
		return resourcesStage{}, err
	}
	if err := i.allocateServiceIPs(registries.Stores); err != nil {
		return resourcesStage{}, err
	}
	customResources, err := i.newCustomResources(store, status, owned.checker)
	if err != nil {
		return resourcesStage{}, err
	}
	registry := definitions.NewRegistry(store, customResources.Settle)
	if err := i.installKinds(registries.Kinds, i.definitionGroup(registry, status)); err != nil {
		return resourcesStage{}, err
	}
	readiness := storage.NewReadiness(stored.readable, registries.Stores)
	if err := server.AddReadyzChecks(healthz.NamedCheck("storage-readiness", readiness.Check)); err != nil {
		return resourcesStage{}, err
	}
	if err := i.serveCustomResources(customResources, who.clients.documents); err != nil {
		return resourcesStage{}, err
	}
	if err := i.installReviews(who.tokens); err != nil {
		return resourcesStage{}, err
	}
	if err := serveIssuer(server, who.tokens, b.url()); err != nil {
		return resourcesStage{}, err
	}
	return resourcesStage{server: server, hooks: i.hooks, readiness: readiness}, nil
}

// installer installs API groups into the generic server.
type installer struct {
	base
	server *genericapiserver.GenericAPIServer
	hooks  *hooks
}

// installKinds installs the groups of the built-in kinds and one more group.
func (i installer) installKinds(kinds []builtin.Kind, last *genericapiserver.APIGroupInfo) error {
	groups := map[string]*genericapiserver.APIGroupInfo{}
	var order []*genericapiserver.APIGroupInfo
	for _, kind := range kinds {
		for _, gv := range kind.Versions {
			if groups[gv.Group] == nil {
				groups[gv.Group] = i.newGroup(gv.Group)
				order = append(order, groups[gv.Group])
			}
			addTo(groups[gv.Group], gv, kind.Resources)
		}
	}
	core := groups[corev1.GroupName]
	if err := i.server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, core); err != nil {
		return fmt.Errorf("install core group: %w", err)
	}
	named := slices.DeleteFunc(append(order, last), func(info *genericapiserver.APIGroupInfo) bool { return info == core })
	if err := i.server.InstallAPIGroups(named...); err != nil {
		return fmt.Errorf("install groups: %w", err)
	}
	return nil
}

func (i installer) newGroup(group string) *genericapiserver.APIGroupInfo {
	info := genericapiserver.NewDefaultAPIGroupInfo(group, i.scheme, metav1.ParameterCodec, i.codecs)
	info.PrioritizedVersions = nil
	return &info
}

// definitionGroup returns the group of CustomResourceDefinitions, in all versions.
func (i installer) definitionGroup(registry *definitions.Registry, status *subresource.Status) *genericapiserver.APIGroupInfo {
	info := i.newGroup(definition.GroupName)
	info.NegotiatedSerializer = definitions.Codecs{CodecFactory: i.codecs}
	for _, version := range definitions.Versions {
		addTo(info, version, builtin.Resources{
			definitions.Resource.Resource:             registry,
			definitions.Resource.Resource + "/status": status,
		})
	}
	return info
}

// addTo adds resources to one version of a group. The first version that is added to
// a group is its preferred one.
func addTo(info *genericapiserver.APIGroupInfo, gv schema.GroupVersion, resources builtin.Resources) {
	if info.VersionedResourcesStorageMap[gv.Version] == nil {
		info.VersionedResourcesStorageMap[gv.Version] = map[string]rest.Storage{}
		info.PrioritizedVersions = append(info.PrioritizedVersions, gv)
	}
	maps.Copy(info.VersionedResourcesStorageMap[gv.Version], resources)
}

// allocateServiceIPs makes the store of Services allocate cluster IPs and node ports.
func (i installer) allocateServiceIPs(stores map[schema.GroupResource]*genericregistry.Store) error {
	options, err := i.generic.RESTOptionsGetter.GetRESTOptions(serviceip.Ports, &networkingv1.IPAddress{})
	if err != nil {
		return err
	}
	claims, destroy, err := i.client.Storage(options.StorageConfig,
		func() runtime.Object { return &networkingv1.IPAddress{} },
		func() runtime.Object { return &networkingv1.IPAddressList{} }, "/"+serviceip.Ports.Resource)
	if err != nil {
		return fmt.Errorf("open claims of node ports: %w", err)
	}
	i.server.RegisterDestroyFunc(destroy)
	allocator := serviceip.New(serviceip.Config{
		Services:   stores[corev1.Resource("services")],
		Addresses:  stores[networkingv1.Resource("ipaddresses")].Storage,
		PortClaims: genericregistry.DryRunnableStorage{Storage: claims, Codec: options.StorageConfig.Codec},
	})
	return i.hooks.inBackground("repair-services", allocator.Run)
}
