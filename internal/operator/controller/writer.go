package controller

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/transport"

	"holdfast.dev/holdfast/internal/operator/authorship"
)

// writer reads and writes objects with the rights of another user.
type writer struct {
	identity authorship.User
	client   dynamic.Interface
	mapping  func(schema.GroupVersionKind) (*meta.RESTMapping, error)
}

// impersonate returns a writer with the rights of the user that requested a run.
func (c *controller) impersonate(ctx context.Context, user authorship.User) (*writer, error) {
	// Without a user name, the request would have the rights of the controller itself.
	if !user.Known() {
		return nil, fatalf("it is not known which user requested the plan: request it again")
	}
	err := c.checkAccount(ctx, user)
	if isFatal(err) {
		return nil, fmt.Errorf("%w: request the plan again, to run it with your rights", err)
	}
	if err != nil {
		return nil, err
	}
	return c.connect(user)
}

// connect returns a writer with the rights of a user that is known and exists.
func (c *controller) connect(user authorship.User) (*writer, error) {
	// All users share the connections of the controller.
	impersonating := transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{
		UserName: user.Username, UID: user.UID, Groups: user.Groups, Extra: user.Extra,
	}, c.server.HTTP.Transport)
	client, err := dynamic.NewForConfigAndClient(c.server.Config, &http.Client{
		Transport: impersonating, Timeout: c.server.HTTP.Timeout,
	})
	if err != nil {
		return nil, fmt.Errorf("client of user %s: %w", user.Username, err)
	}
	return &writer{identity: user, client: client, mapping: c.mapping}, nil
}

// mapping returns the REST mapping of a kind. If the kind is unknown it reads the discovery
// documents again, because the kind may have been defined since. It returns a NoMatch error only
// if the server says that the kind does not exist.
func (c *controller) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := c.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.kinds.Reset()
		mapping, err = c.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if meta.IsNoMatchError(err) {
		// The mapper also lacks the kinds of a group that could not be read, such as that of
		// an aggregated API server that is not available.
		_, failed := c.server.Discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
		if failed != nil && !apierrors.IsNotFound(failed) {
			return nil, fmt.Errorf("discover %s: %w", kind.GroupVersion(), failed)
		}
	}
	return mapping, err
}

// namespaced reports whether a kind is namespaced.
func (c *controller) namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := c.mapping(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// resource returns the client for the resource of an object.
func (w *writer) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := w.mapping(object.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(object), err)
	}
	if object.GetNamespace() == "" {
		return w.client.Resource(mapping.Resource), nil
	}
	return w.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}

// get returns the stored object, nil if there is none.
func (w *writer) get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := w.resource(object)
	if err != nil {
		return nil, err
	}
	found, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(object), fatalIfPermanent(err))
	}
	return found, nil
}

// apply applies the object with server-side apply and returns the stored object.
func (w *writer) apply(ctx context.Context, object *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	resource, err := w.resource(object)
	if err != nil {
		return nil, err
	}
	// With force, a plan overwrites changes of its fields by other managers.
	options := metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: dryRun}
	return resource.Apply(ctx, object.GetName(), object, options)
}

// delete deletes exactly the given object, by its UID, and its dependents. A cluster-scoped
// object must not have changed since it was read: another Instance may have begun to use it.
func (w *writer) delete(ctx context.Context, found *unstructured.Unstructured, dryRun ...string) error {
	resource, err := w.resource(found)
	if err != nil {
		return err
	}
	uid, version, background := found.GetUID(), found.GetResourceVersion(), metav1.DeletePropagationBackground
	exactly := &metav1.Preconditions{UID: &uid}
	if found.GetNamespace() == "" {
		exactly.ResourceVersion = &version
	}
	err = resource.Delete(ctx, found.GetName(), metav1.DeleteOptions{
		Preconditions: exactly, PropagationPolicy: &background, DryRun: dryRun,
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// title returns kind and name of an object, for messages.
func title(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
}
