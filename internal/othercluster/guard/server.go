package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/schema"
)

// definitions is the resource of CustomResourceDefinitions.
func definitions() runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: definition.GroupName, Version: definition.V1, Resource: "customresourcedefinitions"}
}

// connected reads definitions and schemas over a connection.
type connected struct{ server *connection.Connection }

// Definition implements policy.Server.
func (s connected) Definition(ctx context.Context, name string) (*definition.CustomResourceDefinition, error) {
	obj, err := s.server.Dynamic.Resource(definitions()).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeDefinition(obj.Object)
}

func decodeDefinition(object map[string]any) (*definition.CustomResourceDefinition, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	crd := &definition.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	definition.SetDefaults(crd)
	return crd, nil
}

// Published implements policy.Server. The schema is in the OpenAPI document of the preferred version.
func (s connected) Published(ctx context.Context, name runtimeschema.GroupResource) (*policy.Published, error) {
	served, err := s.discover(name)
	if err != nil || served == nil {
		return nil, err
	}
	kind := served.version.WithKind(served.resource.Kind)
	path := "/openapi/v3/apis/" + served.version.String()
	if kind.Group == "" {
		path = "/openapi/v3/api/" + kind.Version
	}
	document, err := s.server.Discovery.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("OpenAPI of %s: %w", name, err)
	}
	read := func() (*schema.Schema, error) { return policy.PublishedSchema(document, kind) }
	return &policy.Published{Kind: kind, Endpoints: served.endpoints, Schema: read}, nil
}

// served is a resource in the preferred version of its group.
type served struct {
	version   runtimeschema.GroupVersion
	resource  metav1.APIResource
	endpoints policy.Endpoints
}

// discover asks the API server for a resource. The result is nil if there is none.
func (s connected) discover(name runtimeschema.GroupResource) (*served, error) {
	groups, err := s.server.Discovery.ServerGroups()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == name.Group })
	if at < 0 {
		return nil, nil
	}
	// The preferred version comes first. A resource may exist only in another one.
	versions := append([]metav1.GroupVersionForDiscovery{groups.Groups[at].PreferredVersion}, groups.Groups[at].Versions...)
	for _, version := range versions {
		list, err := s.server.Discovery.ServerResourcesForGroupVersion(version.GroupVersion)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name.Resource })
		if at >= 0 {
			return &served{
				version: runtimeschema.GroupVersion{Group: name.Group, Version: version.Version}, resource: list.APIResources[at],
				endpoints: policy.EndpointsOf(name, list.APIResources[at].Kind, list.APIResources),
			}, nil
		}
	}
	return nil, nil
}
