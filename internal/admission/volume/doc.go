// Package volume has the admission plugins for PersistentVolumeClaims and
// PersistentVolumes, with the names, rules and messages that they have in Kubernetes:
//
//   - StorageObjectInUseProtection adds a finalizer to every new claim, volume and VolumeAttributesClass;
//   - PersistentVolumeClaimResize lets a claim grow only if its StorageClass allows it.
//
// A controller of package lifecycle removes the finalizer of a deleted claim when no pod
// uses the claim, that of a deleted volume when the volume is not bound, and that of a deleted
// class when no claim and no volume names it.
//
//	plugin := volume.NewProtection()
//	inUse := volume.Uses(pod, claim)
package volume
