package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// The indexes of volumes: by the claim that a volume is bound to, and by the Secrets that a
// kubelet needs to mount it. A key is NAMESPACE/NAME.
const (
	byClaim  = "claim"
	bySecret = "secret"
)

// Relations finds out whether an object that no pod names belongs to a node: a volume behind a
// claim, with its Secrets and its driver, the attachment of a volume, or a ResourceSlice. A nil
// *Relations knows no objects.
type Relations struct {
	volumes     cache.Indexer
	attachments cache.Store
	slices      cache.Store
	drivers     cache.Store
}

// NewRelations returns the relations between the objects of the informers.
func NewRelations(factory informers.SharedInformerFactory) (*Relations, error) {
	volumes := factory.Core().V1().PersistentVolumes().Informer()
	err := volumes.AddIndexers(cache.Indexers{
		byClaim:  func(obj any) ([]string, error) { return claimOf(obj), nil },
		bySecret: func(obj any) ([]string, error) { return secretsOf(obj), nil },
	})
	if err != nil {
		return nil, fmt.Errorf("index volumes: %w", err)
	}
	return &Relations{
		volumes:     volumes.GetIndexer(),
		attachments: factory.Storage().V1().VolumeAttachments().Informer().GetStore(),
		slices:      factory.Resource().V1().ResourceSlices().Informer().GetStore(),
		drivers:     factory.Storage().V1().CSIDrivers().Informer().GetStore(),
	}, nil
}

// belongs reports whether an object without namespace belongs to the node: a slice or an
// attachment of the node, or a volume that is bound to a claim of its pods.
func (r *Relations) belongs(index *Index, node string, object Object) bool {
	if r == nil {
		return false
	}
	switch object.Resource {
	case "volumeattachments":
		found, _, _ := r.attachments.GetByKey(object.Name)
		attachment, ok := found.(*storagev1.VolumeAttachment)
		return ok && attachment.Spec.NodeName == node
	case "resourceslices":
		found, _, _ := r.slices.GetByKey(object.Name)
		slice, ok := found.(*resourcev1.ResourceSlice)
		return ok && slice.Spec.NodeName != nil && *slice.Spec.NodeName == node
	case "persistentvolumes":
		found, _, _ := r.volumes.GetByKey(object.Name)
		volume, ok := found.(*corev1.PersistentVolume)
		return ok && usesVolume(index, node, volume)
	}
	return false
}

// usesSecret reports whether a volume that is bound to a claim of the node's pods needs the
// Secret.
func (r *Relations) usesSecret(index *Index, node string, object Object) bool {
	if r == nil || object.Resource != "secrets" {
		return false
	}
	volumes, _ := r.volumes.ByIndex(bySecret, object.Namespace+"/"+object.Name)
	for _, found := range volumes {
		if volume, ok := found.(*corev1.PersistentVolume); ok && usesVolume(index, node, volume) {
			return true
		}
	}
	return false
}

func usesVolume(index *Index, node string, volume *corev1.PersistentVolume) bool {
	claim := volume.Spec.ClaimRef
	return claim != nil && index.Uses(node, Object{Resource: "persistentvolumeclaims", Namespace: claim.Namespace, Name: claim.Name})
}

// DriverNeeds reports whether a volume of the pod has a CSI driver that needs tokens for the
// audience.
func (r *Relations) DriverNeeds(pod *corev1.Pod, audience string) bool {
	if r == nil {
		return false
	}
	var drivers []string
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.CSI != nil {
			drivers = append(drivers, volume.CSI.Driver)
		}
		bound, _ := r.volumes.ByIndex(byClaim, pod.Namespace+"/"+claimName(pod, volume))
		for _, found := range bound {
			if persistent, ok := found.(*corev1.PersistentVolume); ok && persistent.Spec.CSI != nil {
				drivers = append(drivers, persistent.Spec.CSI.Driver)
			}
		}
	}
	for _, name := range drivers {
		found, _, _ := r.drivers.GetByKey(name)
		driver, ok := found.(*storagev1.CSIDriver)
		if !ok {
			continue
		}
		for _, request := range driver.Spec.TokenRequests {
			if request.Audience == audience {
				return true
			}
		}
	}
	return false
}

// claimName returns the name of the claim of a volume, or "" if the volume has none. The claim of
// an ephemeral volume is named POD-VOLUME.
func claimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name
	}
	return ""
}

func claimOf(obj any) []string {
	volume, ok := obj.(*corev1.PersistentVolume)
	if !ok || volume.Spec.ClaimRef == nil {
		return nil
	}
	return []string{volume.Spec.ClaimRef.Namespace + "/" + volume.Spec.ClaimRef.Name}
}

// secretsOf returns the Secrets that a kubelet reads to mount a volume. Controllers, not
// kubelets, read the other Secrets of a CSI volume.
func secretsOf(obj any) []string {
	volume, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return nil
	}
	source := &volume.Spec.PersistentVolumeSource
	var references []*corev1.SecretReference
	switch {
	case source.CSI != nil:
		references = []*corev1.SecretReference{
			source.CSI.NodePublishSecretRef, source.CSI.NodeStageSecretRef, source.CSI.NodeExpandSecretRef,
		}
	case source.AzureFile != nil:
		reference := &corev1.SecretReference{Name: source.AzureFile.SecretName}
		if source.AzureFile.SecretNamespace != nil {
			reference.Namespace = *source.AzureFile.SecretNamespace
		}
		references = []*corev1.SecretReference{reference}
	case source.CephFS != nil:
		references = []*corev1.SecretReference{source.CephFS.SecretRef}
	case source.Cinder != nil:
		references = []*corev1.SecretReference{source.Cinder.SecretRef}
	case source.FlexVolume != nil:
		references = []*corev1.SecretReference{source.FlexVolume.SecretRef}
	case source.RBD != nil:
		references = []*corev1.SecretReference{source.RBD.SecretRef}
	case source.ScaleIO != nil:
		references = []*corev1.SecretReference{source.ScaleIO.SecretRef}
	case source.ISCSI != nil:
		references = []*corev1.SecretReference{source.ISCSI.SecretRef}
	case source.StorageOS != nil && source.StorageOS.SecretRef != nil:
		references = []*corev1.SecretReference{{Namespace: source.StorageOS.SecretRef.Namespace, Name: source.StorageOS.SecretRef.Name}}
	}
	var keys []string
	for _, reference := range references {
		if reference == nil || reference.Name == "" {
			continue
		}
		namespace := reference.Namespace
		if namespace == "" && volume.Spec.ClaimRef != nil {
			namespace = volume.Spec.ClaimRef.Namespace
		}
		keys = append(keys, namespace+"/"+reference.Name)
	}
	return keys
}
