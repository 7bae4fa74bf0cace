package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
	"holdfast.dev/holdfast/internal/apiserver/managers"
	"holdfast.dev/holdfast/internal/apiserver/routes"
	"holdfast.dev/holdfast/internal/apiserver/serviceip"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/apiserver/watches"
	"holdfast.dev/holdfast/internal/apiserver/writes"
	"holdfast.dev/holdfast/internal/definition"
)

// installer installs API groups into the generic server.
type installer struct {
	start.Base
	server *genericapiserver.GenericAPIServer
	routes *routes.Router
	hooks  *start.Hooks
	// sets are the sets of fields of the managers of built-in kinds.
	sets *managers.Sets
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
	// The server keeps the groups for its shutdown. The schemas were for the types of server-side apply, which are built.
	for _, info := range append(named, core) {
		info.StaticOpenAPISpec = nil
	}
	return i.installWrites(kinds)
}

// installWrites serves regular updates, patches and applies of the built-in kinds that have one version, and of their status.
func (i installer) installWrites(kinds []builtin.Kind) error {
	server := writes.NewServer(writes.Config{
		Scheme: i.Scheme, Serializer: builtin.NewCodecs(i.Scheme, i.Codecs), Authorizer: i.server.Authorizer, Admission: i.Generic.AdmissionControl,
		Equivalent: i.server.EquivalentResourceRegistry, OpenAPI: i.Generic.OpenAPIV3Config, MaxBody: i.Generic.MaxRequestBodyBytes, Sets: i.sets,
	})
	for _, kind := range kinds {
		if len(kind.Versions) > 1 {
			continue
		}
		for name, storage := range kind.Resources {
			resource, subresource, _ := strings.Cut(name, "/")
			scoper, ok := kind.Resources[resource].(rest.Scoper)
			if !ok || subresource != "" && subresource != "status" {
				continue
			}
			endpoint, err := server.Add(kind.Versions[0].WithResource(resource), subresource, scoper.NamespaceScoped(), storage)
			if err != nil {
				return err
			}
			if endpoint == nil {
				continue
			}
			for _, method := range writes.Methods() {
				if err := i.routes.Replace(i.server.Handler.GoRestfulContainer, method, endpoint.Path(), endpoint.Function(method)); err != nil {
					return fmt.Errorf("serve writes of %s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// watchKinds serves the usual watches of the built-in kinds.
func (i installer) watchKinds(kinds []builtin.Kind, server *watches.Server) error {
	codecs := watches.Codecs{Scheme: i.Scheme, Serializer: builtin.NewCodecs(i.Scheme, i.Codecs)}
	for _, kind := range kinds {
		for _, gv := range kind.Versions {
			for name, storage := range kind.Resources {
				if strings.Contains(name, "/") {
					continue // a subresource
				}
				if err := server.Add(gv.WithResource(name), storage, codecs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (i installer) newGroup(group string) *genericapiserver.APIGroupInfo {
	info := genericapiserver.NewDefaultAPIGroupInfo(group, i.Scheme, runtime.NewParameterCodec(i.Scheme), i.Codecs)
	info.PrioritizedVersions = nil
	info.NegotiatedSerializer = builtin.NewCodecs(i.Scheme, i.Codecs)
	return &info
}

// definitionGroup returns the group of CustomResourceDefinitions, in all versions.
func (i installer) definitionGroup(registry *definitions.Registry, status *definitions.Status) *genericapiserver.APIGroupInfo {
	info := i.newGroup(definition.GroupName)
	info.NegotiatedSerializer = definitions.Codecs{CodecFactory: i.Codecs}
	for _, version := range definitions.Versions {
		addTo(info, version, builtin.Resources{
			definitions.Resource.Resource:             registry,
			definitions.Resource.Resource + "/status": status,
		})
	}
	return info
}

// installReviews serves the reviews of access and identity.
func (i installer) installReviews(identity identity.Stage) error {
	access, identities := identity.Reviews(i.Base)
	authorization := i.newGroup(authorizationv1.GroupName)
	addTo(authorization, authorizationv1.SchemeGroupVersion, access)
	authentication := i.newGroup(authenticationv1.GroupName)
	addTo(authentication, authenticationv1.SchemeGroupVersion, identities)
	if err := i.server.InstallAPIGroups(authorization, authentication); err != nil {
		return fmt.Errorf("install reviews: %w", err)
	}
	return nil
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

// newKubelets returns the connections to kubelets. Without a certificate in the configuration, the
// server presents one of its own authority, which it renews.
func (i installer) newKubelets() (*kubelet.Kubelets, error) {
	config := i.Config.Kubelet
	if config.CertFile == "" {
		config.CertFile, config.KeyFile = i.PKI.KubeletClientCertFile(), i.PKI.KubeletClientKeyFile()
	}
	return kubelet.New(config, i.Clients.Typed)
}

// allocateServiceIPs makes the store of Services allocate cluster IPs and node ports.
func (i installer) allocateServiceIPs(stores map[schema.GroupResource]*genericregistry.Store) error {
	options, err := i.Generic.RESTOptionsGetter.GetRESTOptions(serviceip.Ports, &networkingv1.IPAddress{})
	if err != nil {
		return err
	}
	claims, destroy, err := i.Etcd.Storage(options.StorageConfig,
		func() runtime.Object { return &networkingv1.IPAddress{} },
		func() runtime.Object { return &networkingv1.IPAddressList{} }, "/"+serviceip.Ports.Resource)
	if err != nil {
		return fmt.Errorf("open claims of node ports: %w", err)
	}
	i.server.RegisterDestroyFunc(destroy)
	allocator := serviceip.New(serviceip.Config{
		Ranges:     i.Config.Services,
		Services:   stores[corev1.Resource("services")],
		Addresses:  stores[networkingv1.Resource("ipaddresses")].Storage,
		PortClaims: genericregistry.DryRunnableStorage{Storage: claims, Codec: options.StorageConfig.Codec},
	})
	return i.hooks.InBackground("repair-services", allocator.Run)
}
