package guard

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/policy"
)

// storedObjects reads objects from the API server. It implements keep.Objects.
type storedObjects struct {
	server *connection.Connection
	// table has the rules for which List returns whole objects.
	table *policy.Table
	// complete means that List returns an error for a resource that the guard may not list, or that is not served.
	complete bool
}

// unlisted stands for the resources that discovery could not list. List returns the error.
const unlisted = "unlisted"

// Namespaced implements keep.Objects.
func (s storedObjects) Namespaced() []schema.GroupVersionResource {
	all, err := s.resources()
	if err != nil {
		klog.ErrorS(err, "resources are not discovered")
		all = append(all, listed{GroupVersionResource: schema.GroupVersionResource{Resource: unlisted}, namespaced: true})
	}
	var out []schema.GroupVersionResource
	for _, r := range all {
		if r.namespaced {
			out = append(out, listedIn(s.table, r.GroupVersionResource))
		}
	}
	return out
}

// listed is a resource that can be listed.
type listed struct {
	schema.GroupVersionResource
	namespaced bool
}

// resources returns the resources whose objects may have the annotation. If it returns an error, the result is incomplete.
func (s storedObjects) resources() ([]listed, error) {
	lists, err := discovery.ServerPreferredResources(s.server.Discovery)
	var out []listed
	for _, list := range lists {
		in, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && !(r.Name == "events") {
				out = append(out, listed{GroupVersionResource: in.WithResource(r.Name), namespaced: r.Namespaced})
			}
		}
	}
	return out, err
}

// List implements keep.Objects. If the answer need not be complete, resources of a namespace that the guard may not list are left out: the
// API server asks about each of their objects before the controller of namespaces deletes it.
func (s storedObjects) List(ctx context.Context, query keep.Query) ([]runtime.Object, error) {
	if query.Resource.Resource == unlisted {
		return nil, fmt.Errorf("some resources of the API server are not available")
	}
	var out []runtime.Object
	options := metav1.ListOptions{Limit: auditPage}
	for {
		page, next, err := s.page(ctx, query, options)
		switch {
		case s.complete && apierrors.IsForbidden(err):
			return nil, fmt.Errorf("the guard may not list it: create a ClusterRole with the right to list it and the label %s: %w", ReaderLabel, err)
		case s.complete && err != nil:
			return nil, err
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			return out, nil
		case apierrors.IsForbidden(err) && query.Namespace != "":
			return out, nil
		case err != nil:
			return nil, err
		}
		out = append(out, page...)
		if options.Continue = next; options.Continue == "" {
			return out, nil
		}
	}
}

// page returns some objects, and where the next ones begin.
func (s storedObjects) page(ctx context.Context, query keep.Query, options metav1.ListOptions) (out []runtime.Object, next string, err error) {
	if query.MetadataOnly {
		page, err := s.server.Metadata.Resource(query.Resource).Namespace(query.Namespace).List(ctx, options)
		if err != nil {
			return nil, "", err
		}
		for i := range page.Items {
			out = append(out, &page.Items[i])
		}
		return out, page.Continue, nil
	}
	page, err := s.server.Dynamic.Resource(query.Resource).Namespace(query.Namespace).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	for i := range page.Items {
		out = append(out, &page.Items[i])
	}
	return out, page.GetContinue(), nil
}

// holders finds the holders of all objects with the annotation that the guard may list: those that are older than the guard.
func (s storedObjects) holders(ctx context.Context, defines func(name string) bool) (map[holder]bool, error) {
	all, err := s.resources()
	if err != nil {
		klog.ErrorS(err, "some resources are not searched for kept objects")
	}
	out := map[holder]bool{}
	for _, r := range all {
		objects, err := s.List(ctx, keep.Query{Resource: r.GroupVersionResource, MetadataOnly: true})
		if apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return out, fmt.Errorf("list %s: %w", r.GroupResource(), err)
		}
		for _, obj := range objects {
			object, ok := obj.(metav1.Object)
			if _, set := keep.Value(obj); !set || !ok {
				continue
			}
			if object.GetNamespace() != "" {
				out[holder{namespacesResource, object.GetNamespace()}] = true
			}
			if defines(r.GroupResource().String()) {
				out[holder{definitionsResource, r.GroupResource().String()}] = true
			}
		}
	}
	return out, nil
}
