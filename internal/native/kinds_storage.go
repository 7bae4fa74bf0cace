package native

import (
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
)

// storageKinds are the kinds of storage.k8s.io: the classes, and the objects of CSI drivers. The migration of stored objects is last.
func storageKinds() []Kind {
	gv := storagev1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Resource: "storageclasses", ShortNames: []string{"sc"}, Scope: Cluster,
			Object: &storagev1.StorageClass{}, List: &storagev1.StorageClassList{}, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "volumeattributesclasses", ShortNames: []string{"vac"}, Scope: Cluster,
			Object: &storagev1.VolumeAttributesClass{}, List: &storagev1.VolumeAttributesClassList{}, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "csidrivers", Scope: Cluster,
			Object: &storagev1.CSIDriver{}, List: &storagev1.CSIDriverList{},
			PrepareUpdate: countDriverChange, ConditionalUpdate: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "csinodes", Scope: Cluster,
			Object: &storagev1.CSINode{}, List: &storagev1.CSINodeList{},
			PrepareCreate: dropStorageHealth, PrepareUpdate: keepStorageHealth, ConditionalUpdate: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "csistoragecapacities",
			Object: &storagev1.CSIStorageCapacity{}, List: &storagev1.CSIStorageCapacityList{},
			ConditionalUpdate: true,
		},
		{
			GroupVersion: gv, Resource: "volumeattachments", Scope: Cluster,
			Object: &storagev1.VolumeAttachment{}, List: &storagev1.VolumeAttachmentList{},
			Status: true, StatusKeeps: allMetadata, ConditionalUpdate: true, ReturnDeleted: true,
		},
		{
			GroupVersion: storagemigrationv1.SchemeGroupVersion, Resource: "storageversionmigrations", Scope: Cluster,
			Object: &storagemigrationv1.StorageVersionMigration{}, List: &storagemigrationv1.StorageVersionMigrationList{},
			Status: true, StatusKeeps: allMetadata, ConditionalUpdate: true,
		},
	}
}

// countDriverChange increments the generation of a CSIDriver. Unlike those of other kinds, the
// generation of a new CSIDriver is not set.
func countDriverChange(newObj, oldObj runtime.Object) {
	updated, old := newObj.(*storagev1.CSIDriver), oldObj.(*storagev1.CSIDriver)
	if !apiequality.Semantic.DeepEqual(updated.Spec, old.Spec) {
		updated.Generation = old.Generation + 1
	}
}

// dropStorageHealth removes the status of a new CSINode: the feature CSIVolumeHealth, to which
// the field belongs, is off.
func dropStorageHealth(obj runtime.Object) {
	obj.(*storagev1.CSINode).Status = storagev1.CSINodeStatus{}
}

func keepStorageHealth(newObj, oldObj runtime.Object) {
	newObj.(*storagev1.CSINode).Status = oldObj.(*storagev1.CSINode).Status
}
