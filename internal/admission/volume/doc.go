// Package volume has the admission plugins for PersistentVolumeClaims and
// PersistentVolumes, with the names, rules and messages that they have in Kubernetes:
//
//   - StorageObjectInUseProtection adds a finalizer to every new claim and volume;
//   - PersistentVolumeClaimResize lets a claim grow only if its StorageClass allows it.
//
// A controller of package lifecycle removes the finalizer of a deleted claim when no pod
// uses the claim, and that of a deleted volume when the volume is not bound.
//
//	plugin := volume.NewProtection()
//	inUse := volume.Uses(pod, claim)
package volume
