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

	"holdfast.dev/holdfast/operator/api"
)

// writer reads and writes with the rights of somebody else.
type writer struct {
	client dynamic.Interface
	kinds  func(schema.GroupVersionKind) (*meta.RESTMapping, error)
}

// as has the rights of the user who asked for what an Instance is doing.
func (c *controller) as(instance *api.Instance) (*writer, error) {
	requester, found, err := api.RequestedBy(instance)
	if err != nil {
		return nil, fatalError{err}
	}
	// A request that names nobody would be made with our own rights.
	if !found || requester.Username == "" {
		return nil, fatalf("nobody is written down whose rights the plan has: trigger it again")
	}
	// All users share our connections.
	impersonating := transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{
		UserName: requester.Username, UID: requester.UID, Groups: requester.Groups, Extra: requester.Extra,
	}, c.http.Transport)
	client, err := dynamic.NewForConfigAndClient(c.config, &http.Client{Transport: impersonating, Timeout: c.http.Timeout})
	if err != nil {
		return nil, fmt.Errorf("client of user %s: %w", requester.Username, err)
	}
	return &writer{client: client, kinds: c.kind}, nil
}

// kind finds out how a kind is served. One that is not may be a moment later.
func (c *controller) kind(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := c.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.kinds.Reset()
		mapping, err = c.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return mapping, err
}

func (c *controller) namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := c.kind(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

func (w *writer) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := w.kinds(object.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(object), err)
	}
	if object.GetNamespace() == "" {
		return w.client.Resource(mapping.Resource), nil
	}
	return w.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}

// get is the object as it is stored, nil if there is none.
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
		return nil, fmt.Errorf("%s: %w", title(object), judged(err))
	}
	return found, nil
}

// apply makes the fields of the object what a package says.
func (w *writer) apply(ctx context.Context, object *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	resource, err := w.resource(object)
	if err != nil {
		return nil, err
	}
	// A plan has the last word on what it renders, whoever changed it since.
	return resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: dryRun})
}

// delete deletes exactly the object that was found, with what it owns.
func (w *writer) delete(ctx context.Context, found *unstructured.Unstructured, dryRun ...string) error {
	resource, err := w.resource(found)
	if err != nil {
		return err
	}
	uid, background := found.GetUID(), metav1.DeletePropagationBackground
	err = resource.Delete(ctx, found.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background, DryRun: dryRun,
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// title is how messages call an object.
func title(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
}
