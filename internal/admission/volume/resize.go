package volume

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	storageclient "k8s.io/client-go/kubernetes/typed/storage/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	volumehelpers "k8s.io/component-helpers/storage/volume"

	"holdfast.dev/holdfast/internal/admission/informed"
)

// errFixed has the wording of Kubernetes.
var errFixed = errors.New("only dynamically provisioned pvc can be resized and " +
	"the storageclass that provisions the pvc must support resize")

// Resize is the admission plugin PersistentVolumeClaimResize.
type Resize struct {
	informed.Handler
	classes storagelisters.StorageClassLister
	client  storageclient.StorageClassesGetter
}

var _ admission.ValidationInterface = &Resize{}

// NewResize returns the plugin. It reads classes from the informer, and with the client
// those that the informer does not have yet.
func NewResize(classes storageinformers.StorageClassInformer, client storageclient.StorageClassesGetter) *Resize {
	return &Resize{
		Handler: informed.NewHandler(classes.Informer().HasSynced, admission.Update),
		classes: classes.Lister(), client: client,
	}
}

// Validate implements admission.ValidationInterface.
func (p *Resize) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("persistentvolumeclaims") || a.GetSubresource() != "" {
		return nil
	}
	claim, isNew := a.GetObject().(*corev1.PersistentVolumeClaim)
	oldClaim, isOld := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if !isNew || !isOld || !grows(claim, oldClaim) {
		return nil
	}
	if err := p.Wait(a); err != nil {
		return err
	}
	class := volumehelpers.GetPersistentVolumeClaimClass(claim)
	if class == "" || class != volumehelpers.GetPersistentVolumeClaimClass(oldClaim) || !p.expandable(ctx, class) {
		return admission.NewForbidden(a, errFixed)
	}
	return nil
}

func grows(claim, oldClaim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.Resources.Requests.Storage().Cmp(*oldClaim.Spec.Resources.Requests.Storage()) > 0
}

// expandable reports whether the volumes of a class may grow.
func (p *Resize) expandable(ctx context.Context, name string) bool {
	class, err := p.classes.Get(name)
	if apierrors.IsNotFound(err) {
		class, err = p.client.StorageClasses().Get(ctx, name, metav1.GetOptions{})
	}
	return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
}
