package owners

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// kind is a kind of the server.
type kind struct {
	schema.GroupVersionResource
	schema.GroupVersionKind
	namespaced bool
}

// selection says which objects a command reads.
type selection struct {
	// types are the types on the command line. Without any, they are all kinds whose objects can be listed and patched.
	types         []string
	namespace     string
	allNamespaces bool
	labels        string
}

// kinds returns the kinds of a selection. If types were not named, kinds without a namespace are among them only with
// --all-namespaces, and Events never: no tool applies them. unavailable says which APIs do not answer, so that their kinds are missing.
func (s selection) kinds(factory cmdutil.Factory) (kinds []kind, unavailable, err error) {
	if len(s.types) > 0 {
		kinds, err = named(factory, s.types)
		return kinds, nil, err
	}
	client, err := factory.ToDiscoveryClient()
	if err != nil {
		return nil, nil, err
	}
	lists, unavailable := client.ServerPreferredResources()
	if len(lists) == 0 && unavailable != nil {
		return nil, nil, unavailable
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range list.APIResources {
			if r.Name == "events" || !r.Namespaced && !s.allNamespaces ||
				!slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "patch") {
				continue
			}
			kinds = append(kinds, kind{version.WithResource(r.Name), version.WithKind(r.Kind), r.Namespaced})
		}
	}
	return kinds, unavailable, nil
}

// named returns the kinds that a command line names, such as deployments or ingresses.networking.k8s.io. A kind that it names twice
// is one kind.
func named(factory cmdutil.Factory, types []string) ([]kind, error) {
	mapper, err := factory.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	var kinds []kind
	for _, name := range types {
		full, resource := schema.ParseResourceArg(name)
		if full == nil {
			full = &schema.GroupVersionResource{Group: resource.Group, Resource: resource.Resource}
		}
		gvk, err := mapper.KindFor(*full)
		if err != nil && full.Version != "" {
			gvk, err = mapper.KindFor(resource.WithVersion(""))
		}
		if err != nil {
			return nil, fmt.Errorf("type %q: %w", name, err)
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, fmt.Errorf("type %q: %w", name, err)
		}
		found := kind{mapping.Resource, mapping.GroupVersionKind, mapping.Scope.Name() == meta.RESTScopeNameNamespace}
		if !slices.Contains(kinds, found) {
			kinds = append(kinds, found)
		}
	}
	return kinds, nil
}
