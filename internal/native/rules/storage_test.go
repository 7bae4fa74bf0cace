package rules_test

import (
	"strings"
	"testing"
)

func TestStorage(t *testing.T) {
	const modes = `supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`
	edits{
		"no access modes": {"spec/accessModes =", `spec.accessModes: Required value: at least 1 access mode is required`},
		"access mode":     {"spec/accessModes = [ReadWriteOnce, X]", `spec.accessModes: Unsupported value: "X": ` + modes},
		"only one pod": {
			"spec/accessModes = [ReadWriteOnce, ReadWriteOncePod]",
			`spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes`,
		},
		"no size":     {"spec/resources =", `spec.resources[storage]: Required value`},
		"size":        {"spec/resources/requests/storage = 0", `spec.resources[storage]: Invalid value: "0": must be greater than zero`},
		"above limit": {"spec/resources/requests/storage = 11Gi", ""},
		"class":       {"spec/storageClassName = A", `spec.storageClassName: Invalid value: "A": ` + subdomain},
		"mode":        {"spec/volumeMode = X", `spec.volumeMode: Unsupported value: "X": supported values: "Block", "Filesystem"`},
		"mode empty":  {"spec/volumeMode = ''", `spec.volumeMode: Unsupported value: "": supported values: "Block", "Filesystem"`},
		"source": {
			"spec/dataSource = {kind: Pod, name: a}\nspec/dataSourceRef = {kind: PersistentVolumeClaim, name: a}",
			"spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the default apiGroup\n" +
				`spec: Invalid value: "spec.dataSource": must match dataSourceRef`,
		},
		"source in another namespace": {
			"spec/dataSourceRef = {kind: PersistentVolumeClaim, name: a, namespace: A}",
			`spec.dataSourceRef.namespace: Invalid value: "A": ` + label + "\n" +
				`spec: Invalid value: "spec.dataSource": may not be specified when dataSourceRef.namespace is specified`,
		},
		"source reference": {"spec/dataSourceRef = {kind: Pod, name: ''}", `
			spec.dataSourceRef.name: Required value
			spec.dataSourceRef: Invalid value: "Pod": must be 'PersistentVolumeClaim' when referencing the default apiGroup
			spec: Invalid value: "spec.dataSource": must match dataSourceRef`},
	}.run(t, "PersistentVolumeClaim")
	edits{
		"no capacity":      {"spec/capacity =", "spec.capacity: Required value\nspec.capacity: Unsupported value: null: supported values: \"storage\""},
		"other capacity":   {"spec/capacity = {cpu: 1}", `spec.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"`},
		"capacity":         {"spec/capacity/storage = 0", `spec.capacity[storage]: Invalid value: "0": must be greater than zero`},
		"no access modes":  {"spec/accessModes =", `spec.accessModes: Required value`},
		"access mode":      {"spec/accessModes = [X]", `spec.accessModes: Unsupported value: "X": ` + modes},
		"no source":        {"spec/local =", `spec: Required value: must specify a volume type`},
		"two sources":      {"spec/hostPath = {path: /a, type: ''}", `spec.local: Forbidden: may not specify more than 1 volume type`},
		"local needs node": {"spec/nodeAffinity =", `spec.nodeAffinity: Required value: Local volume requires node affinity`},
		"node terms": {
			"spec/nodeAffinity/required/nodeSelectorTerms = []",
			`spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term`,
		},
		"empty affinity": {
			"spec/local =\nspec/hostPath = {path: /a, type: ''}\nspec/nodeAffinity = {}",
			`spec.nodeAffinity.required: Required value: must specify required node constraints`,
		},
		"local path": {"spec/local/path = /a/..", `spec.local.path: Invalid value: "/a/..": must not contain '..'`},
		"recycled root": {
			"spec/local =\nspec/hostPath = {path: /, type: ''}\nspec/persistentVolumeReclaimPolicy = Recycle",
			`spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'`,
		},
		"reclaim": {
			"spec/persistentVolumeReclaimPolicy = X",
			`spec.persistentVolumeReclaimPolicy: Unsupported value: "X": supported values: "Delete", "Recycle", "Retain"`,
		},
		"class": {"spec/storageClassName = A", `spec.storageClassName: Invalid value: "A": ` + subdomain},
		"long driver": {
			"spec/local =\nspec/csi = {driver: " + strings.Repeat("a", 64) + ", volumeHandle: a}",
			`spec.csi.driver: Too long: may not be more than 63 bytes`,
		},
		"csi": {"spec/local =\nspec/csi = {driver: a_b, volumeHandle: ''}", `
			spec.csi.driver: Invalid value: "a_b": ` + subdomain + `
			spec.csi.volumeHandle: Required value`},
	}.run(t, "PersistentVolume")
	edits{
		"no provisioner": {"provisioner =", `provisioner: Required value`},
		"provisioner":    {"provisioner = -a", `provisioner: Invalid value: "-a": ` + qualified},
		"reclaim":        {"reclaimPolicy = Recycle", `reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`},
		"binding": {
			"volumeBindingMode = X",
			`volumeBindingMode: Unsupported value: "X": supported values: "Immediate", "WaitForFirstConsumer"`,
		},
		"parameters":      {"parameters = {'': a}", `parameters: Invalid value: "": field can not be empty.`},
		"long parameters": {"parameters = {a: " + strings.Repeat("a", 256<<10) + "}", `parameters: Too long: may not be more than 262144 bytes`},
		"topology": {
			"allowedTopologies/0/matchLabelExpressions/0/values =",
			`allowedTopologies[0].matchLabelExpressions[0].values: Required value`,
		},
	}.run(t, "StorageClass")
}
