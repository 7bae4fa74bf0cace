package native

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// resourceKinds are the kinds of resource.k8s.io, with which pods claim devices.
func resourceKinds() []Kind {
	gv := resourcev1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Resource: "deviceclasses", Scope: Cluster,
			Object: &resourcev1.DeviceClass{}, List: &resourcev1.DeviceClassList{}, Generation: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "resourceclaims",
			Object: &resourcev1.ResourceClaim{}, List: &resourcev1.ResourceClaimList{},
			Status: true, StatusKeeps: allMetadata, PrepareStatus: dropDeallocated, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "resourceclaimtemplates",
			Object: &resourcev1.ResourceClaimTemplate{}, List: &resourcev1.ResourceClaimTemplateList{}, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Resource: "resourceslices", Scope: Cluster,
			Object: &resourcev1.ResourceSlice{}, List: &resourcev1.ResourceSliceList{}, Generation: true, ReturnDeleted: true,
			Selectable: sliceFields, Indexed: resourcev1.ResourceSliceSelectorNodeName,
			PrepareCreate: func(obj runtime.Object) { prepareSlice(obj, &resourcev1.ResourceSlice{}) }, PrepareUpdate: prepareSlice,
		},
		{
			GroupVersion: gv, Resource: "devicetaintrules", Scope: Cluster,
			Object: &resourcev1.DeviceTaintRule{}, List: &resourcev1.DeviceTaintRuleList{}, ReturnDeleted: true,
			Status: true, StatusKeeps: allMetadata, Generation: true,
			PrepareCreate: timeTaints, PrepareUpdate: func(newObj, _ runtime.Object) { timeTaints(newObj) },
		},
	}
}

func sliceFields(obj runtime.Object) fields.Set {
	spec := &obj.(*resourcev1.ResourceSlice).Spec
	node := ""
	if spec.NodeName != nil {
		node = *spec.NodeName
	}
	return fields.Set{
		resourcev1.ResourceSliceSelectorNodeName: node,
		resourcev1.ResourceSliceSelectorDriver:   spec.Driver,
		resourcev1.ResourceSliceSelectorPoolName: spec.Pool.Name,
	}
}

// timeTaints sets the time of taints that have none.
func timeTaints(obj runtime.Object) {
	now := metav1.Time{Time: time.Now().Truncate(time.Second)}
	set := func(taint *resourcev1.DeviceTaint) {
		if taint.TimeAdded == nil {
			taint.TimeAdded = &now
		}
	}
	switch obj := obj.(type) {
	case *resourcev1.DeviceTaintRule:
		set(&obj.Spec.Taint)
	case *resourcev1.ResourceSlice:
		for i := range obj.Spec.Devices {
			for j := range obj.Spec.Devices[i].Taints {
				set(&obj.Spec.Devices[i].Taints[j])
			}
		}
	}
}

// prepareSlice sets the times of taints and removes lists of values, whose feature DRAListTypeAttributes is off. A slice that
// has such lists keeps them.
func prepareSlice(newObj, oldObj runtime.Object) {
	timeTaints(newObj)
	if hasLists(oldObj.(*resourcev1.ResourceSlice)) {
		return
	}
	for _, device := range newObj.(*resourcev1.ResourceSlice).Spec.Devices {
		for name, attribute := range device.Attributes {
			attribute.BoolValues, attribute.IntValues, attribute.StringValues, attribute.VersionValues = nil, nil, nil, nil
			device.Attributes[name] = attribute
		}
	}
}

// hasLists reports whether an attribute of a device has a list of values.
func hasLists(slice *resourcev1.ResourceSlice) bool {
	for _, device := range slice.Spec.Devices {
		for _, a := range device.Attributes {
			if a.BoolValues != nil || a.IntValues != nil || a.StringValues != nil || a.VersionValues != nil {
				return true
			}
		}
	}
	return false
}

// dropDeallocated removes the status of devices that a write to the status of a claim
// deallocates. Their drivers no longer report them.
func dropDeallocated(newObj, oldObj runtime.Object) {
	updated, old := &newObj.(*resourcev1.ResourceClaim).Status, &oldObj.(*resourcev1.ResourceClaim).Status
	if updated.Allocation != nil || old.Allocation == nil {
		return
	}
	type device struct{ driver, pool, name string }
	gone := map[device]bool{}
	for _, result := range old.Allocation.Devices.Results {
		gone[device{result.Driver, result.Pool, result.Device}] = true
	}
	var kept []resourcev1.AllocatedDeviceStatus
	for _, status := range updated.Devices {
		if !gone[device{status.Driver, status.Pool, status.Device}] {
			kept = append(kept, status)
		}
	}
	updated.Devices = kept
}
