package keep

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// kindsAtOnce is how many kinds of one namespace are read in parallel.
const kindsAtOnce = 16

// Objects reads the objects that this server stores. Its answers contain every object that was stored before the call.
type Objects interface {
	// Namespaced returns the resources with objects in namespaces, without Events, in the version in which List answers.
	Namespaced() []schema.GroupVersionResource
	// List returns objects. They must not be changed.
	List(ctx context.Context, query Query) ([]runtime.Object, error)
}

// Query says which objects List returns.
type Query struct {
	Resource schema.GroupVersionResource
	// Namespace is empty for the objects of all namespaces.
	Namespace string
	// MetadataOnly means that objects need only their name, namespace and the annotation of this package.
	MetadataOnly bool
}

// inEveryNamespace are the objects that every namespace has.
var inEveryNamespace = map[target]bool{
	{resource: corev1.Resource("configmaps"), name: "kube-root-ca.crt"}: true,
	{resource: corev1.Resource("serviceaccounts"), name: "default"}:     true,
}

// checkNamespace returns a refusal if the objects in a namespace keep it.
func (p *Plugin) checkNamespace(ctx context.Context, obj runtime.Object) error {
	namespace, err := meta.Accessor(obj)
	if err != nil || namespace.GetDeletionTimestamp() != nil {
		return err
	}
	return p.checkObjectsIn(ctx, namespace, InForce(namespaces, obj))
}

// checkFinalize returns a refusal if a write removes the last finalizer of a terminating namespace with kept objects. They would be left
// without a namespace.
func (p *Plugin) checkFinalize(ctx context.Context, a admission.Attributes) error {
	namespace, ok := a.GetObject().(*corev1.Namespace)
	if !ok || a.GetSubresource() != "finalize" || len(namespace.Spec.Finalizers) > 0 {
		return nil
	}
	if old, ok := a.GetOldObject().(*corev1.Namespace); !ok || old.DeletionTimestamp == nil {
		return nil
	}
	return p.checkObjectsIn(ctx, namespace, "")
}

// checkObjectsIn returns a refusal if the objects in a namespace with this value of the annotation keep it.
func (p *Plugin) checkObjectsIn(ctx context.Context, namespace metav1.Object, value string) error {
	source := p.objects.Load()
	if source == nil {
		return unknown(namespaces, namespace.GetName(), fmt.Errorf("the server starts"))
	}
	resources := (*source).Namespaced()
	found := make([]kept, len(resources))
	var group errgroup.Group
	group.SetLimit(kindsAtOnce)
	for i, resource := range resources {
		group.Go(func() (err error) {
			found[i], err = p.find(ctx, Query{Resource: resource, Namespace: namespace.GetName()}, value)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return unknown(namespaces, namespace.GetName(), err)
	}
	var all kept
	for _, some := range found {
		all.merge(some)
	}
	return all.refuse(targetOf(namespaces, namespace), value)
}

// CheckDefinition returns a refusal if a definition is kept by itself. CheckContent judges its objects.
func (p *Plugin) CheckDefinition(ctx context.Context, crd runtime.Object) error {
	return p.CheckObject(ctx, definitions.WithVersion("v1"), crd)
}

// CheckContent returns a refusal if the objects of a definition keep it. resource has the storage version.
func (p *Plugin) CheckContent(ctx context.Context, crd runtime.Object, resource schema.GroupVersionResource) error {
	definition, err := meta.Accessor(crd)
	if err != nil {
		return err
	}
	found, err := p.find(ctx, Query{Resource: resource}, InForce(definitions, crd))
	if err != nil {
		return unknown(definitions, definition.GetName(), err)
	}
	return found.refuse(targetOf(definitions, definition), InForce(definitions, crd))
}

// find returns the objects that keep their namespace or definition, which has the value of the annotation: the kept objects, or all.
func (p *Plugin) find(ctx context.Context, query Query, value string) (found kept, err error) {
	source := p.objects.Load()
	if source == nil {
		return kept{}, fmt.Errorf("the server starts")
	}
	resource := query.Resource.GroupResource()
	query.MetadataOnly = value == WhileObjects || !p.currentRules().Guards(resource)
	if query.MetadataOnly && value != WhileObjects && unkeepable[resource] {
		return kept{}, nil
	}
	objects, err := (*source).List(ctx, query)
	if err != nil {
		return kept{}, fmt.Errorf("read %s: %w", resource, err)
	}
	for _, obj := range objects {
		object, err := meta.Accessor(obj)
		if err != nil {
			return kept{}, err
		}
		t := targetOf(resource, object)
		why := &reason{text: "it exists"}
		if value != WhileObjects {
			if why, err = p.reasonFor(ctx, query.Resource, obj, nil); err != nil {
				return kept{}, err
			}
		} else if query.Namespace != "" && inEveryNamespace[target{resource: resource, name: t.name}] {
			why = nil
		}
		if why != nil {
			found.add(t.String(), metav1.StatusCause{Type: CauseTypeObjectKept, Field: why.field, Message: t.String() + ": " + why.text})
		}
	}
	return found, nil
}

// refuse returns the answer to the deletion of a namespace or a definition with these objects, nil if there are none.
func (k *kept) refuse(t target, value string) error {
	if k.count == 0 {
		return nil
	}
	message := fmt.Sprintf("%s %q cannot be deleted: it holds %s that must be kept: %s; delete these objects first, after what keeps them is removed",
		t.resource, t.name, k.objects(), k.names())
	if value == WhileObjects {
		message = fmt.Sprintf("%s %q cannot be deleted: the annotation %s: %s keeps it while it holds objects, and it holds %s: %s; "+
			"delete these objects first, or let a user that may unlock it remove the annotation: %s",
			t.resource, t.name, Annotation, WhileObjects, k.objects(), k.names(), t.unkeep())
	}
	return conflict(t, message, k.causes)
}

// unknown returns the answer if the server cannot tell whether an object is kept. The client may try again.
func unknown(resource schema.GroupResource, name string, err error) error {
	answer := apierrors.NewServiceUnavailable(fmt.Sprintf("%s %q is not deleted: the server cannot tell whether it holds objects that must be kept: %v",
		resource, name, err))
	answer.ErrStatus.Details = &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: name, RetryAfterSeconds: 1}
	return answer
}
