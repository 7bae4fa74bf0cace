package rules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"

	"holdfast.dev/holdfast/internal/native/rules"
)

func TestDrivers(t *testing.T) {
	const negative = "must be greater than or equal to 0"
	long := strings.Repeat("a", 257)
	edits{
		"policy": {
			"spec/fsGroupPolicy = X",
			`spec.fsGroupPolicy: Unsupported value: "X": supported values: "File", "None", "ReadWriteOnceWithFSType"`,
		},
		"mode": {"spec/volumeLifecycleModes = [X]", `spec.volumeLifecycleModes: Unsupported value: "X": ` +
			`supported values: "Persistent", "Ephemeral"`},
		"period": {
			"spec/nodeAllocatableUpdatePeriodSeconds = 9",
			`spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds`,
		},
		"tokens": {"spec/tokenRequests = [{audience: a, expirationSeconds: 1}, {audience: a}, " +
			"{audience: b, expirationSeconds: 4294967297}]", `
			spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes
			spec.tokenRequests[1].audience: Duplicate value: "a"
			spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds`},
		"secrets without tokens": {"spec/tokenRequests =", `spec.serviceAccountTokenInSecrets: Invalid value: true: ` +
			`serviceAccountTokenInSecrets is set but no tokenRequests are specified`},
	}.run(t, "CSIDriver")
	edits{
		"none yet": {"spec/drivers = []", ``},
		"driver":   {"spec/drivers/0/name = a_b", `spec.drivers[0].name: Invalid value: "a_b": ` + subdomain},
		"no ID":    {"spec/drivers/0/nodeID =", `spec.drivers[0].nodeID: Required value`},
		"long ID": {
			"spec/drivers/0/nodeID = " + long,
			`spec.drivers[0].nodeID: Invalid value: "` + long + `": must be 256 characters or less`,
		},
		"count":    {"spec/drivers/0/allocatable/count = -1", `spec.drivers[0].allocatable.count: Invalid value: -1: ` + negative},
		"same key": {"spec/drivers/0/topologyKeys = [a, a]", `spec.drivers[0]: Duplicate value: "a"`},
		"same driver": {
			"spec/drivers = [{name: a, nodeID: a, topologyKeys: []}, {name: a, nodeID: b, topologyKeys: []}]",
			`spec.drivers[1].name: Duplicate value: "a"`,
		},
	}.run(t, "CSINode")
	edits{
		"no class": {"storageClassName =", `storageClassName: Invalid value: "": ` + subdomain},
		"class":    {"storageClassName = A", `storageClassName: Invalid value: "A": ` + subdomain},
		"capacity": {"capacity = -1", `capacity: Invalid value: "-1": ` + negative},
		"topology": {
			"nodeTopology = {matchExpressions: [{key: a, operator: X}]}",
			`nodeTopology.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`,
		},
	}.run(t, "CSIStorageCapacity")
	edits{
		"no driver":     {"driverName =", `driverName: Required value`},
		"no parameters": {"parameters =", `parameters: Required value: must contain at least one key/value pair`},
	}.run(t, "VolumeAttributesClass")
}

func TestAttachments(t *testing.T) {
	const one = `must specify exactly one of inlineVolumeSpec and persistentVolumeName`
	const inline = "may not be specified in the context of inline volumes"
	edits{
		"no attacher": {"spec/attacher =", `spec.attacher: Required value`},
		"node":        {"spec/nodeName = A", `spec.nodeName: Invalid value: "A": ` + subdomain},
		"no source":   {"spec/source = {}", `spec.source: Required value: ` + one},
		"two sources": {"spec/source/inlineVolumeSpec = {}", `spec.source: Forbidden: ` + one},
		"volume":      {"spec/source/persistentVolumeName = A", `spec.source.persistentVolumeName: Invalid value: "A": ` + subdomain},
	}.run(t, "VolumeAttachment")
	edits{
		"empty": {"spec/source/inlineVolumeSpec = {}", `
			spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes
			spec.source.inlineVolumeSpec: Required value: must specify a volume type
			spec.source.inlineVolumeSpec.accessModes: Required value`},
		"fields of other volumes": {
			"spec/source/inlineVolumeSpec/capacity = {storage: 1Gi}\nspec/source/inlineVolumeSpec/storageClassName = a\n" +
				"spec/source/inlineVolumeSpec/volumeMode = Block\nspec/source/inlineVolumeSpec/persistentVolumeReclaimPolicy = Delete", `
			spec.source.inlineVolumeSpec.capacity: Forbidden: ` + inline + `
			spec.source.inlineVolumeSpec.storageClassName: Forbidden: ` + inline + `
			spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes
			spec.source.inlineVolumeSpec.volumeMode: Forbidden: \
				may not specify volumeMode other than Filesystem in the context of inline volumes`,
		},
	}.run(t, "VolumeAttachment of an inline volume")
}

func TestServiceRanges(t *testing.T) {
	edits{
		"none":  {"spec/cidrs = []", `spec.cidrs: Required value: at least one CIDR required`},
		"three": {"spec/cidrs = [a, b, c]", `spec.cidrs: Invalid value: ["a","b","c"]: may only hold up to 2 values`},
		"no range": {"spec/cidrs = [a]", `spec.cidrs[0]: Invalid value: "a": must be a valid CIDR value, \
			(e.g. 10.9.8.0/24 or 2001:db8::/64)`},
		"same family": {"spec/cidrs = [10.0.0.0/24, 10.0.1.0/24]", `spec.cidrs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: \
			may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64`},
	}.run(t, "ServiceCIDR")
	edits{
		"no parent": {"spec/parentRef =", `spec.parentRef: Required value`},
		"parent": {"spec/parentRef = {group: A, resource: a/b, name: ''}", `
			spec.parentRef.group: Invalid value: "A": ` + subdomain + `
			spec.parentRef.resource: Invalid value: "a/b": may not contain '/'
			spec.parentRef.name: Required value`},
	}.run(t, "IPAddress")
}

// TestChangedRanges checks that the ranges of a ServiceCIDR never change, but that one of the other family can be added.
func TestChangedRanges(t *testing.T) {
	tests := map[string]struct {
		old, new []string
		want     []string
	}{
		"same": {[]string{"10.0.0.0/24"}, []string{"10.0.0.0/24"}, nil},
		"changed": {[]string{"10.0.0.0/24"}, []string{"10.0.1.0/24"}, lines(`
			spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable`)},
		"added": {[]string{"10.0.0.0/24"}, []string{"10.0.0.0/24", "2001:db8::/64"}, nil},
		"added bad": {[]string{"10.0.0.0/24"}, []string{"10.0.0.0/24", "10.0.1.0/24"}, lines(`spec.cidrs: Invalid value: \
			["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64`)},
		"removed": {
			[]string{"10.0.0.0/24", "2001:db8::/64"},
			[]string{"10.0.0.0/24"},
			lines(`spec.cidrs: Invalid value: ["10.0.0.0/24"]: field is immutable`),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old := &networkingv1.ServiceCIDR{Spec: networkingv1.ServiceCIDRSpec{CIDRs: test.old}}
			old.Name, old.ResourceVersion = "a", "1"
			updated := old.DeepCopy()
			updated.Spec.CIDRs = test.new
			if diff := cmp.Diff(test.want, messages(rules.ValidateUpdate(updated, old))); diff != "" {
				t.Errorf("ValidateUpdate (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangedDrivers checks that a driver of a CSINode can only change its number of volumes.
func TestChangedDrivers(t *testing.T) {
	old := defaulted(t, []byte(valid["CSINode"])).(*storagev1.CSINode)
	old.ResourceVersion = "1"
	grown := old.DeepCopy()
	count := int32(30)
	grown.Spec.Drivers[0].Allocatable.Count = &count
	grown.Spec.Drivers = append(grown.Spec.Drivers, storagev1.CSINodeDriver{Name: "b.example.com", NodeID: "b"})
	if errs := rules.ValidateUpdate(grown, old); len(errs) > 0 {
		t.Errorf("more volumes and another driver: %v", errs)
	}
	moved := old.DeepCopy()
	moved.Spec.Drivers[0].NodeID = "i-2"
	got := messages(rules.ValidateUpdate(moved, old))
	if len(got) != 1 || !strings.HasPrefix(got[0], "spec.drivers: Invalid value: ") || !strings.HasSuffix(got[0], ": field is immutable") {
		t.Errorf("another node ID: %q", got)
	}
}
