package lifecycle

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/reconcile"
)

// perNamespace watches the object of a given name that every active namespace must have.
// The controllers accounts and rootCAs embed it.
type perNamespace struct {
	namespaces, objects cache.SharedIndexInformer
	// object is the name of the object.
	object string
}

// withName returns list options that select the objects of one name.
func withName(name string) func(*metav1.ListOptions) {
	return func(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=" + name }
}

// watch enqueues a namespace when the namespace or its object is created or changes, and
// when the object is deleted. The caller sets objects before.
func (p *perNamespace) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	p.namespaces = factory.Core().V1().Namespaces().Informer()
	enqueueNamespace := func(obj any) {
		if ns, ok := obj.(*corev1.Namespace); ok {
			enqueue(cache.MetaObjectToName(ns))
		}
	}
	if _, err := p.namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueueNamespace,
		UpdateFunc: func(_, newObj any) { enqueueNamespace(newObj) },
	}); err != nil {
		return err
	}
	enqueueNamespaceOf := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			enqueue(cache.ObjectName{Name: name.Namespace})
		}
	}
	_, err := p.objects.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueueNamespaceOf,
		UpdateFunc: func(_, newObj any) { enqueueNamespaceOf(newObj) },
		DeleteFunc: enqueueNamespaceOf,
	})
	return err
}

// get returns the object in a namespace, or nil if it is missing. active is false if the
// namespace does not exist or is being deleted; then the object is not needed.
func (p *perNamespace) get(namespace string) (obj any, active bool, err error) {
	// Until the informer has synced, objects may only seem to be missing.
	if !p.objects.HasSynced() {
		return nil, false, reconcile.ErrNotYet
	}
	found, exists, err := p.namespaces.GetStore().GetByKey(namespace)
	if err != nil || !exists {
		return nil, false, err
	}
	if ns, ok := found.(*corev1.Namespace); !ok || ns.DeletionTimestamp != nil {
		return nil, false, nil
	}
	obj, exists, err = p.objects.GetStore().GetByKey(cache.NewObjectName(namespace, p.object).String())
	if !exists {
		obj = nil
	}
	return obj, true, err
}

// created returns the error of reconcile after a create request. It is reconcile.ErrNotYet unless the request failed: the informer has not seen
// the object. If the object is deleted before it does, no event says so, and the controller has to look again.
func created(operation string, err error) error {
	if err := ignoreExpected(operation, err); err != nil {
		return err
	}
	return reconcile.ErrNotYet
}

// ignoreExpected returns nil for the errors that a create request may return in normal
// operation: the object exists already, or the namespace is terminating or gone.
func ignoreExpected(operation string, err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return ignoreNotFound(operation, err)
}
