package defaultclass

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	volumehelpers "k8s.io/component-helpers/storage/volume"

	"holdfast.dev/holdfast/internal/admission/informed"
)

// Storage is the admission plugin DefaultStorageClass.
type Storage struct {
	informed.Handler
	classes storagelisters.StorageClassLister
}

var _ admission.MutationInterface = &Storage{}

// NewStorage returns the plugin.
func NewStorage(classes storageinformers.StorageClassInformer) *Storage {
	return &Storage{Handler: informed.NewHandler(classes.Informer().HasSynced, admission.Create), classes: classes.Lister()}
}

// Admit implements admission.MutationInterface. A claim with an empty class asks for a
// volume without a class, so it gets no default.
func (p *Storage) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("persistentvolumeclaims") || a.GetSubresource() != "" {
		return nil
	}
	claim, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	if !ok || volumehelpers.PersistentVolumeClaimHasClass(claim) {
		return nil
	}
	if err := p.Wait(a); err != nil {
		return err
	}
	classes, err := p.classes.List(labels.Everything())
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	name := newest(classes, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
	if name != "" {
		claim.Spec.StorageClassName = &name
	}
	return nil
}
