package rules

import (
	"net"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

// volumeSourceRules are the rules for the types of volumes that a storage system provides.
func volumeSourceRules() []rule {
	return []rule{
		called[corev1.VolumeSource]("gcePersistentDisk", "persistentDisk"),
		onField[corev1.GCEPersistentDiskVolumeSource]("partition", diskPartition),
		onField[corev1.AWSElasticBlockStoreVolumeSource]("partition", diskPartition),
		onField[corev1.GitRepoVolumeSource]("directory", descendingPath),
		onField[corev1.ISCSIVolumeSource]("iqn", func(r *report, s string) {
			if s != "" {
				iscsiIdentifier(r, s)
			}
		}),
		onField[corev1.ISCSIVolumeSource]("lun", within[int32](0, 255)),
		onStruct(func(r *report, s *corev1.ISCSIVolumeSource) {
			if (s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil {
				r.required("", "secretRef")
			}
			if s.InitiatorName != nil {
				r.under(func() { iscsiIdentifier(r, *s.InitiatorName) }, "initiatorname")
			}
		}),
		onStruct(fibreChannel),
		onStruct(flocker),
		require[corev1.QuobyteVolumeSource]("registry", hostPortPairs),
		onStruct(quobyte),
		onStruct(azureDisk),
		onField[corev1.FlexVolumeSource]("options", flexOptions),
		require[corev1.ScaleIOVolumeSource]("volumeName", ""),
		require[corev1.StorageOSVolumeSource]("volumeName", ""),
		onField[corev1.StorageOSVolumeSource]("volumeName", dnsLabel),
		onField[corev1.StorageOSVolumeSource]("volumeNamespace", dnsLabel),
		onField[corev1.StorageOSVolumeSource]("secretRef", secretNamed),
		onField[corev1.CinderVolumeSource]("secretRef", secretNamed),
		onStruct(func(r *report, s *corev1.CSIVolumeSource) {
			switch {
			case s.NodePublishSecretRef == nil:
			case s.NodePublishSecretRef.Name == "":
				r.required("", "nodePublishSecretRef", "name")
			default:
				name := s.NodePublishSecretRef.Name
				r.invalidAll(name, apivalidation.NameIsDNSSubdomain(name, false), "name")
			}
		}),
	}
}

// diskPartition checks the number of a partition. Zero means that the field is not set.
func diskPartition(r *report, n int32) {
	if n != 0 {
		within[int32](1, 255)(r, n)
	}
}

func secretNamed(r *report, ref corev1.LocalObjectReference) {
	if ref.Name == "" {
		r.required("", "name")
	}
}

// iscsiNames are the patterns of the names of iSCSI nodes, by their type.
var iscsiNames = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`iqn\.[0-9]{4}-[0-9]{2}\.[-.0-9A-Za-z]+:[^\s$&*,;|]+$`),
	"eui": regexp.MustCompile(`^eui.[0-9A-Za-z]{16}$`),
	"naa": regexp.MustCompile(`^naa.[0-9A-Za-z]{32}$`),
}

func iscsiIdentifier(r *report, s string) {
	pattern, ok := iscsiNames[s[:min(3, len(s))]]
	switch {
	case !ok:
		r.invalid(s, "must be valid format starting with iqn, eui, or naa")
	case !pattern.MatchString(s):
		r.invalid(s, "must be valid format")
	}
}

// iscsiName limits the length of the name of a volume, which becomes part of the name of an iSCSI interface.
func iscsiName(r *report, v *corev1.Volume) {
	if s := v.ISCSI; s != nil && s.InitiatorName != nil && len(v.Name+":"+s.TargetPortal) > 64 {
		r.invalid(v.Name, "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.", "name")
	}
}

func fibreChannel(r *report, s *corev1.FCVolumeSource) {
	targets := len(s.TargetWWNs) > 0
	switch {
	case !targets && len(s.WWIDs) == 0:
		r.required("must specify either targetWWNs or wwids, but not both", "targetWWNs")
	case targets && len(s.WWIDs) > 0:
		r.invalid(s.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously", "targetWWNs")
	}
	switch {
	case targets && s.Lun == nil:
		r.required("lun is required if targetWWNs is specified", "lun")
	case targets && (*s.Lun < 0 || *s.Lun > 255):
		r.invalid(*s.Lun, validation.InclusiveRangeError(0, 255), "lun")
	}
}

func flocker(r *report, s *corev1.FlockerVolumeSource) {
	switch {
	case s.DatasetName == "" && s.DatasetUUID == "":
		r.required("one of datasetName and datasetUUID is required")
	case s.DatasetName != "" && s.DatasetUUID != "":
		r.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	if strings.Contains(s.DatasetName, "/") {
		r.invalid(s.DatasetName, "must not contain '/'", "datasetName")
	}
}

const hostPortPairs = "must be a host:port pair or multiple pairs separated by commas"

func quobyte(r *report, s *corev1.QuobyteVolumeSource) {
	switch {
	case s.Registry == "":
		return // another rule requires it
	case len(s.Tenant) > 64:
		r.required("must be a UUID and may not exceed a length of 64 characters", "tenant")
		return
	}
	for pair := range strings.SplitSeq(s.Registry, ",") {
		if _, _, err := net.SplitHostPort(pair); err != nil {
			r.invalid(s.Registry, hostPortPairs, "registry")
		}
	}
}

func azureDisk(r *report, s *corev1.AzureDiskVolumeSource) {
	const (
		managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
		blob    = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	)
	switch {
	case s.Kind == nil:
	case *s.Kind == corev1.AzureManagedDisk && !strings.HasPrefix(s.DataDiskURI, "/subscriptions/"):
		r.unsupported(s.DataDiskURI, []string{managed}, "diskURI")
	case *s.Kind != corev1.AzureManagedDisk && !strings.HasPrefix(s.DataDiskURI, "https://"):
		r.unsupported(s.DataDiskURI, []string{blob}, "diskURI")
	}
}

// flexOptions rejects options with a domain of Kubernetes.
func flexOptions(r *report, options map[string]string) {
	for _, option := range sortedKeys(options) {
		domain, _, _ := strings.Cut(option, "/")
		domain = "." + strings.ToLower(domain)
		if slices.ContainsFunc([]string{".kubernetes.io", ".k8s.io"}, func(reserved string) bool { return strings.HasSuffix(domain, reserved) }) {
			r.invalid(option, "kubernetes.io and k8s.io namespaces are reserved", key(option))
		}
	}
}
