package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/reconcile"
)

// byAttributesClass is the index of claims and volumes by the VolumeAttributesClasses that they name.
const byAttributesClass = "attributesclass"

// attributesClasses is the controller that keeps a deleted VolumeAttributesClass while a claim or a volume names it.
type attributesClasses struct {
	typed     kubernetes.Interface
	metadata  metadata.ResourceInterface
	finalizer finalizer
	store     cache.Store
	users     []cache.SharedIndexInformer
}

func newAttributesClasses(c *connection.Connection, config Config) *attributesClasses {
	return &attributesClasses{
		typed:     c.Typed,
		metadata:  c.Metadata.Resource(storagev1.SchemeGroupVersion.WithResource("volumeattributesclasses")),
		finalizer: finalizer{volume.AttributesClassFinalizer, config.ProtectVolumes},
	}
}

func (*attributesClasses) name() string { return "attributesclasses" }

// watch enqueues a class when it has to get the finalizer, when it is being deleted, and when a claim or a volume names it no longer.
func (a *attributesClasses) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	informer := factory.Storage().V1().VolumeAttributesClasses().Informer()
	a.store = informer.GetStore()
	if err := a.finalizer.watch(informer, enqueue); err != nil {
		return err
	}
	claims, err := claimInformer(factory)
	if err != nil {
		return err
	}
	volumes, err := volumeInformer(factory)
	if err != nil {
		return err
	}
	a.users = []cache.SharedIndexInformer{claims, volumes}
	for _, users := range a.users {
		if err := watchUsers(users, enqueue); err != nil {
			return err
		}
	}
	return nil
}

// watchUsers enqueues the classes that a claim or a volume named before it changed or was deleted.
func watchUsers(users cache.SharedIndexInformer, enqueue func(cache.ObjectName)) error {
	if err := users.AddIndexers(cache.Indexers{byAttributesClass: func(obj any) ([]string, error) { return attributesClassesOf(obj), nil }}); err != nil {
		return err
	}
	released := func(obj any) {
		if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = deleted.Obj
		}
		for _, class := range attributesClassesOf(obj) {
			enqueue(cache.ObjectName{Name: class})
		}
	}
	_, err := users.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: released,
		UpdateFunc: func(oldObj, newObj any) {
			if !slices.Equal(attributesClassesOf(oldObj), attributesClassesOf(newObj)) {
				released(oldObj)
			}
		},
	})
	return err
}

// attributesClassesOf returns the names of the classes that a claim or a volume has, had or gets.
func attributesClassesOf(obj any) []string {
	var named []string
	add := func(name *string) {
		if name != nil && *name != "" && !slices.Contains(named, *name) {
			named = append(named, *name)
		}
	}
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		add(obj.Spec.VolumeAttributesClassName)
	case *corev1.PersistentVolumeClaim:
		add(obj.Spec.VolumeAttributesClassName)
		add(obj.Status.CurrentVolumeAttributesClassName)
		if modify := obj.Status.ModifyVolumeStatus; modify != nil {
			add(&modify.TargetVolumeAttributesClassName)
		}
	}
	return named
}

// reconcile adds the finalizer to a class that lacks it. It removes the finalizer from a deleted class that nothing names.
func (a *attributesClasses) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := a.store.GetByKey(name.String())
	class, ok := obj.(*storagev1.VolumeAttributesClass)
	switch {
	case err != nil || !exists || !ok:
		return 0, err
	case a.finalizer.isMissing(class):
		return 0, a.finalizer.attach(ctx, a.metadata, class)
	case !a.finalizer.holds(class):
		return 0, nil
	}
	used, err := a.isUsed(ctx, class.Name)
	if err != nil || used {
		return 0, err
	}
	return 0, a.finalizer.detach(ctx, a.metadata, class)
}

// isUsed reports whether a claim or a volume names the class. Before it says no, it reads them from the server, because the informers
// may not have a new one yet.
func (a *attributesClasses) isUsed(ctx context.Context, class string) (bool, error) {
	for _, users := range a.users {
		if !users.HasSynced() {
			return false, reconcile.ErrNotYet
		}
		found, err := users.GetIndexer().IndexKeys(byAttributesClass, class)
		if err != nil {
			return false, fmt.Errorf("users of a class: %w", err)
		}
		if len(found) > 0 {
			return true, nil
		}
	}
	claims, err := a.typed.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("claims of a class: %w", err)
	}
	for i := range claims.Items {
		if slices.Contains(attributesClassesOf(&claims.Items[i]), class) {
			return true, reconcile.ErrNotYet // as below
		}
	}
	volumes, err := a.typed.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("volumes of a class: %w", err)
	}
	if slices.ContainsFunc(volumes.Items, func(v corev1.PersistentVolume) bool { return slices.Contains(attributesClassesOf(&v), class) }) {
		// The informers have not seen the claim or the volume yet. If it is deleted before they do, no event says so: look again.
		return true, reconcile.ErrNotYet
	}
	return false, nil
}
