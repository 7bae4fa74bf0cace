package columns

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var driverDoc = storagev1.CSIDriverSpec{}.SwaggerDoc()

var csiDrivers = table(name,
	flag("AttachRequired", driverDoc["attachRequired"], func(d *storagev1.CSIDriver) bool {
		return d.Spec.AttachRequired == nil || *d.Spec.AttachRequired
	}),
	flag("PodInfoOnMount", driverDoc["podInfoOnMount"], func(d *storagev1.CSIDriver) bool { return deref(d.Spec.PodInfoOnMount) }),
	flag("StorageCapacity", driverDoc["storageCapacity"], func(d *storagev1.CSIDriver) bool { return deref(d.Spec.StorageCapacity) }),
	text("TokenRequests", driverDoc["tokenRequests"], func(d *storagev1.CSIDriver) string {
		if d.Spec.TokenRequests == nil {
			return unset
		}
		return join(d.Spec.TokenRequests, func(r storagev1.TokenRequest) string { return r.Audience })
	}),
	flag("RequiresRepublish", driverDoc["requiresRepublish"], func(d *storagev1.CSIDriver) bool { return deref(d.Spec.RequiresRepublish) }),
	text("Modes", driverDoc["volumeLifecycleModes"], func(d *storagev1.CSIDriver) string {
		return stringOr(join(d.Spec.VolumeLifecycleModes, func(m storagev1.VolumeLifecycleMode) string { return string(m) }), none)
	}),
	age)

var csiNodes = table(name,
	number("Drivers", "Drivers indicates the number of CSI drivers registered on the node",
		func(n *storagev1.CSINode) int { return len(n.Spec.Drivers) }),
	age)

var capacityDoc = storagev1.CSIStorageCapacity{}.SwaggerDoc()

var csiStorageCapacities = table(name,
	text("StorageClassName", capacityDoc["storageClassName"], func(c *storagev1.CSIStorageCapacity) string { return c.StorageClassName }),
	text("Capacity", capacityDoc["capacity"], func(c *storagev1.CSIStorageCapacity) string {
		if c.Capacity == nil {
			return unset
		}
		return c.Capacity.String()
	}))

var attachmentDoc = storagev1.VolumeAttachmentSpec{}.SwaggerDoc()

var volumeAttachments = table(name,
	text("Attacher", attachmentDoc["attacher"], func(a *storagev1.VolumeAttachment) string { return a.Spec.Attacher }),
	text("PV", storagev1.VolumeAttachmentSource{}.SwaggerDoc()["persistentVolumeName"], func(a *storagev1.VolumeAttachment) string {
		return valueOr(a.Spec.Source.PersistentVolumeName, "")
	}),
	text("Node", attachmentDoc["nodeName"], func(a *storagev1.VolumeAttachment) string { return a.Spec.NodeName }),
	flag("Attached", storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"], func(a *storagev1.VolumeAttachment) bool {
		return a.Status.Attached
	}),
	age)

var volumeAttributesClasses = table(name,
	text("DriverName", storagev1.VolumeAttributesClass{}.SwaggerDoc()["driverName"], func(c *storagev1.VolumeAttributesClass) string {
		return c.DriverName
	}),
	age)

var serviceRanges = table(name,
	text("CIDRs", networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"], func(c *networkingv1.ServiceCIDR) string {
		return strings.Join(c.Spec.CIDRs, ",")
	}),
	age)

var addresses = table(name,
	text("ParentRef", networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"], func(a *networkingv1.IPAddress) string {
		parent := a.Spec.ParentRef
		if parent == nil {
			return none
		}
		resource := schema.GroupResource{Group: parent.Group, Resource: parent.Resource}
		path := strings.ToLower(resource.String())
		if parent.Namespace != "" {
			path += "/" + parent.Namespace
		}
		return path + "/" + parent.Name
	}))
