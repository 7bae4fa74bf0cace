package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

const (
	// pageSize is the number of objects in one response of the server.
	pageSize = 500
	// listQPS and listBurst limit the requests, as kubectl limits those of discovery.
	listQPS, listBurst = 50, 300
)

// family finds objects with owners on the server. It reads their metadata only.
type family struct {
	client    metadata.Interface
	discovery discovery.DiscoveryInterface
	// read has the objects with owners, by namespace, with the notes about kinds that could
	// not be listed.
	read map[string]relatives
}

type relatives struct {
	all []relative
	// objects are the same, as package preview needs them.
	objects []map[string]any
	notes   []string
}

func newFamily(factory cmdutil.Factory) (family, error) {
	config, err := factory.ToRESTConfig()
	if err != nil {
		return family{}, err
	}
	// The requests are many and cheap. The warnings would be about kinds that the files do not
	// have.
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.WarningHandler = listQPS, listBurst, rest.NoWarnings{}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return family{}, err
	}
	found, err := factory.ToDiscoveryClient()
	return family{client, found, map[string]relatives{}}, err
}

// find returns the objects among which the dependents of an object are: those in its namespace,
// or all if it has none. Deleting a CustomResourceDefinition deletes the objects of its kind,
// so these count as its dependents.
func (f *family) find(ctx context.Context, owner runtime.Object) ([]map[string]any, []string) {
	object, ok := owner.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	found, ok := f.read[object.GetNamespace()]
	if !ok {
		found = f.list(ctx, object.GetNamespace())
		f.read[object.GetNamespace()] = found
	}
	if _, isDefinition := kindOf(object); isDefinition {
		objects, notes := f.instances(ctx, object)
		return append(objects, found.objects...), append(notes, found.notes...)
	}
	return found.objects, found.notes
}

// list lists the objects with owners in a namespace, or everywhere.
func (f *family) list(ctx context.Context, namespace string) relatives {
	lists, err := f.discovery.ServerPreferredResources()
	var found relatives
	if err != nil {
		// The result has the groups that answered.
		found.notes = append(found.notes, fmt.Sprintf("children may be missing: %v", err))
	}
	var forbidden []string
	for _, list := range lists {
		gv, err := runtimeschema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || namespace != "" && !r.Namespaced || r.Name == "events" {
				continue
			}
			objects, err := f.listOne(ctx, gv.WithResource(r.Name), namespace)
			if err != nil {
				forbidden = append(forbidden, r.Name)
			}
			for _, o := range objects {
				if len(o.OwnerReferences) > 0 {
					found.objects = append(found.objects, contentOfMetadata(r.Kind, o))
					found.all = append(found.all, relative{r.Kind, gv.WithResource(r.Name), o.ObjectMeta})
				}
			}
		}
	}
	if slices.Sort(forbidden); len(forbidden) > 0 {
		found.notes = append(found.notes, "children of these kinds are not known, because they could not be listed: "+
			strings.Join(forbidden, ", "))
	}
	return found
}

// listOne lists the metadata of one kind.
func (f *family) listOne(
	ctx context.Context, resource runtimeschema.GroupVersionResource, namespace string,
) ([]metav1.PartialObjectMetadata, error) {
	var objects []metav1.PartialObjectMetadata
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := f.client.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return objects, err
		}
		objects = append(objects, list.Items...)
		if options.Continue = list.Continue; options.Continue == "" {
			return objects, nil
		}
	}
}

// instances lists the objects of the kind of a definition, as dependents of the definition.
func (f *family) instances(ctx context.Context, crd *unstructured.Unstructured) ([]map[string]any, []string) {
	kind, _ := kindOf(crd)
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["served"] != true {
			continue
		}
		name, _ := version["name"].(string)
		resource := runtimeschema.GroupVersionResource{Group: kind.Group, Version: name, Resource: plural}
		found, err := f.listOne(ctx, resource, "")
		if err != nil {
			return nil, []string{fmt.Sprintf("the objects of the definition could not be listed: %v", err)}
		}
		var objects []map[string]any
		for _, o := range found {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: crd.GetKind(), Name: crd.GetName(), UID: crd.GetUID()}}
			objects = append(objects, contentOfMetadata(kind.Kind, o))
		}
		return objects, nil
	}
	return nil, nil
}

// contentOfMetadata returns kind, identity and owners of an object.
func contentOfMetadata(kind string, o metav1.PartialObjectMetadata) map[string]any {
	var owners []any
	for _, owner := range o.OwnerReferences {
		owners = append(owners, map[string]any{"kind": owner.Kind, "name": owner.Name, "uid": string(owner.UID)})
	}
	content := map[string]any{"name": o.Name, "uid": string(o.UID), "ownerReferences": owners}
	if o.Namespace != "" {
		content["namespace"] = o.Namespace
	}
	return map[string]any{"kind": kind, "metadata": content}
}
