package rules

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// csiRules are the rules for the objects of CSI drivers.
func csiRules() []rule {
	return []rule{
		require[storagev1.CSIDriverSpec]("attachRequired", ""),
		require[storagev1.CSIDriverSpec]("podInfoOnMount", ""),
		require[storagev1.CSIDriverSpec]("storageCapacity", ""),
		oneOf[storagev1.CSIDriverSpec]("fsGroupPolicy", "File", "None", "ReadWriteOnceWithFSType"),
		onField[storagev1.CSIDriverSpec]("volumeLifecycleModes", lifecycleModes),
		onField[storagev1.CSIDriverSpec]("tokenRequests", tokenRequests),
		notRequired[storagev1.TokenRequest]("audience"),
		onField[storagev1.CSIDriverSpec]("nodeAllocatableUpdatePeriodSeconds", func(r *report, n int64) {
			if n < 10 {
				r.invalid(n, "must be greater than or equal to 10 seconds")
			}
		}),
		onStruct(func(r *report, s *storagev1.CSIDriverSpec) {
			if s.ServiceAccountTokenInSecrets != nil && len(s.TokenRequests) == 0 {
				r.invalid(*s.ServiceAccountTokenInSecrets, "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
					"serviceAccountTokenInSecrets")
			}
		}),

		onField[storagev1.CSINodeDriver]("name", csiDriver),
		onField[storagev1.CSINodeDriver]("nodeID", func(r *report, s string) {
			if len(s) > maxNodeID {
				r.invalid(s, fmt.Sprintf("must be %d characters or less", maxNodeID))
			}
		}),
		onField[storagev1.VolumeNodeResources]("count", nonNegative[int32]),
		onStruct(topologyKeys),
		// A kubelet creates its CSINode before the first driver registers.
		notRequired[storagev1.CSINodeSpec]("drivers"),
		onField[storagev1.CSINodeSpec]("drivers", differentDrivers),
		onStruct(unchangedDrivers),

		notRequired[storagev1.CSIStorageCapacity]("storageClassName"),
		onField[storagev1.CSIStorageCapacity]("storageClassName", func(r *report, s string) {
			r.invalidAll(s, validation.IsDNS1123Subdomain(s))
		}),
		onStruct(func(r *report, c *storagev1.CSIStorageCapacity) {
			if c.Capacity != nil {
				r.under(func() { quantity(r, *c.Capacity) }, "capacity")
			}
		}),

		onField[storagev1.VolumeAttributesClass]("driverName", labelKeyLower),
		onField[storagev1.VolumeAttributesClass]("parameters", parameters),
		require[storagev1.VolumeAttributesClass]("parameters", "must contain at least one key/value pair"),

		onField[storagev1.VolumeAttachmentSpec]("attacher", csiDriver),
		notRequired[storagev1.VolumeAttachmentSpec]("nodeName"),
		onField[storagev1.VolumeAttachmentSpec]("nodeName", func(r *report, s string) {
			r.invalidAll(s, validation.IsDNS1123Subdomain(s))
		}),
		skip[storagev1.VolumeAttachmentSource]("inlineVolumeSpec"),
		onStruct(attachedVolume),
	}
}

// maxNodeID is the length of the longest ID that a CSI driver may give to a node.
const maxNodeID = 256

// lifecycleModes checks the modes of volumes. As in Kubernetes, an error has the path of the list.
func lifecycleModes(r *report, modes []storagev1.VolumeLifecycleMode) {
	for _, mode := range modes {
		if mode != storagev1.VolumeLifecyclePersistent && mode != storagev1.VolumeLifecycleEphemeral {
			r.unsupported(mode, []string{"Persistent", "Ephemeral"})
		}
	}
}

// tokenRequests checks that the tokens of a driver have different audiences and valid lifetimes.
func tokenRequests(r *report, requests []storagev1.TokenRequest) {
	audiences := map[string]bool{}
	for i, request := range requests {
		if audiences[request.Audience] {
			r.duplicate(request.Audience, i, "audience")
			continue
		}
		audiences[request.Audience] = true
		seconds := request.ExpirationSeconds
		switch {
		case seconds == nil:
		case *seconds < 600:
			r.invalid(*seconds, "may not specify a duration less than 10 minutes", i, "expirationSeconds")
		case *seconds > 1<<32:
			r.invalid(*seconds, "may not specify a duration larger than 2^32 seconds", i, "expirationSeconds")
		}
	}
}

// topologyKeys checks the keys of a driver. As in Kubernetes, an error has the path of the driver.
func topologyKeys(r *report, d *storagev1.CSINodeDriver) {
	seen := map[string]bool{}
	for _, key := range d.TopologyKeys {
		if key == "" {
			r.required("")
		}
		if seen[key] {
			r.duplicate(key)
		}
		seen[key] = true
		r.invalidAll(key, validation.IsQualifiedName(key))
	}
}

func differentDrivers(r *report, drivers []storagev1.CSINodeDriver) {
	seen := map[string]bool{}
	for i, driver := range drivers {
		if seen[driver.Name] {
			r.duplicate(driver.Name, i, "name")
		}
		seen[driver.Name] = true
	}
}

// unchangedDrivers checks that an update of a CSINode only adds and removes drivers. A driver that stays may change the
// number of volumes that it can attach, and nothing else.
func unchangedDrivers(r *report, n *storagev1.CSINode) {
	old, ok := r.old.(*storagev1.CSINode)
	if !ok {
		return
	}
	for _, before := range old.Spec.Drivers {
		for _, after := range n.Spec.Drivers {
			before.Allocatable, after.Allocatable = nil, nil
			if before.Name == after.Name && !apiequality.Semantic.DeepEqual(before, after) {
				r.immutable(after, "spec", "drivers")
			}
		}
	}
}

// attachedVolume checks that an attachment names a volume, or has the spec of one.
func attachedVolume(r *report, s *storagev1.VolumeAttachmentSource) {
	const exactlyOne = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		r.required(exactlyOne)
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		r.forbidden(exactlyOne)
	case s.InlineVolumeSpec != nil:
		r.under(func() { inlineVolume(r, s.InlineVolumeSpec) }, "inlineVolumeSpec")
	case *s.PersistentVolumeName == "":
		r.required("must specify non empty persistentVolumeName", "persistentVolumeName")
	default:
		r.invalidAll(*s.PersistentVolumeName, validation.IsDNS1123Subdomain(*s.PersistentVolumeName), "persistentVolumeName")
	}
}

// inlineVolume checks the spec of a volume that an attachment has instead of the name of a volume.
func inlineVolume(r *report, s *corev1.PersistentVolumeSpec) {
	const notInline = "may not be specified in the context of inline volumes"
	for _, set := range []struct {
		name string
		is   bool
	}{
		{"claimRef", s.ClaimRef != nil},
		{"capacity", len(s.Capacity) > 0},
		{"nodeAffinity", s.NodeAffinity != nil},
		{"storageClassName", s.StorageClassName != ""},
	} {
		if set.is {
			r.forbidden(notInline, set.name)
		}
	}
	if s.CSI == nil {
		r.required("has to be specified in the context of inline volumes", "csi")
	}
	volumeSource(r, s, volumeContext{})
	if len(s.AccessModes) == 0 {
		r.required("", "accessModes")
	}
	r.under(func() { accessModes(r, s.AccessModes) }, "accessModes")
	if policy := s.PersistentVolumeReclaimPolicy; policy != "" && policy != corev1.PersistentVolumeReclaimRetain {
		r.forbidden("may only be Retain in the context of inline volumes", "persistentVolumeReclaimPolicy")
	}
	if s.VolumeMode != nil && *s.VolumeMode != corev1.PersistentVolumeFilesystem {
		r.forbidden("may not specify volumeMode other than Filesystem in the context of inline volumes", "volumeMode")
	}
}

// attachmentStatus checks the sizes of the fields that an attacher writes.
func attachmentStatus(r *report, s *storagev1.VolumeAttachmentStatus) {
	const maxMetadata, maxMessage = 256 << 10, 1024
	size := 0
	for k, v := range s.AttachmentMetadata {
		size += len(k) + len(v)
	}
	if size > maxMetadata {
		r.add(field.ErrorList{field.TooLong(r.path("attachmentMetadata"), "", maxMetadata)})
	}
	for _, failure := range []struct {
		name string
		err  *storagev1.VolumeError
	}{{"attachError", s.AttachError}, {"detachError", s.DetachError}} {
		if failure.err == nil {
			continue
		}
		if len(failure.err.Message) > maxMessage {
			r.add(field.ErrorList{field.TooLong(r.path(failure.name, "message"), "", maxMessage)})
		}
		if code := failure.err.ErrorCode; code != nil && *code < 0 {
			r.invalid(*code, validation.InclusiveRangeError(0, math.MaxInt32), failure.name, "errorCode")
		}
	}
}
