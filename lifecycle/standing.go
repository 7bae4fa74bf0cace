package lifecycle

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/reconcile"
)

// standing watches the object of one name that every active namespace has.
type standing struct {
	namespaces, objects cache.SharedIndexInformer
	object              string
}

// named selects the objects of one name.
func named(name string) func(*metav1.ListOptions) {
	return func(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=" + name }
}

// watch has enqueue called with a namespace when it appears or changes, and
// when its object does.
func (s *standing) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	s.namespaces = factory.Core().V1().Namespaces().Informer()
	take := func(obj any) {
		if ns, ok := obj.(*corev1.Namespace); ok {
			enqueue(cache.MetaObjectToName(ns))
		}
	}
	if _, err := s.namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    take,
		UpdateFunc: func(_, newObj any) { take(newObj) },
	}); err != nil {
		return err
	}
	takeObject := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			enqueue(cache.ObjectName{Name: name.Namespace})
		}
	}
	_, err := s.objects.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    takeObject,
		UpdateFunc: func(_, newObj any) { takeObject(newObj) },
		DeleteFunc: takeObject,
	})
	return err
}

// in is the object in a namespace, nil if it is missing. wanted is false for a
// namespace that is gone or on its way.
func (s *standing) in(namespace string) (obj any, wanted bool, err error) {
	// What is not read yet is not missing.
	if !s.objects.HasSynced() {
		return nil, false, reconcile.ErrNotYet
	}
	found, exists, err := s.namespaces.GetStore().GetByKey(namespace)
	if err != nil || !exists {
		return nil, false, err
	}
	if ns, ok := found.(*corev1.Namespace); !ok || ns.DeletionTimestamp != nil {
		return nil, false, nil
	}
	obj, exists, err = s.objects.GetStore().GetByKey(cache.NewObjectName(namespace, s.object).String())
	if !exists {
		obj = nil
	}
	return obj, true, err
}

// ignoreEnd takes away the errors of creating in a namespace that ends, and
// that of an object somebody else was quicker to create.
func ignoreEnd(doing string, err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return ignoreNotFound(doing, err)
}
