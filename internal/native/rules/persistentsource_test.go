package rules_test

import "testing"

func TestPersistentSources(t *testing.T) {
	edits{
		"only the first source is checked": {"spec/nfs = {server: '', path: ''}\nspec/local/path = ''", `
			spec.nfs.server: Required value
			spec.nfs.path: Required value
			spec.nfs.path: Invalid value: "": must be an absolute path
			spec.local: Forbidden: may not specify more than 1 volume type`},
		"disk": {
			"spec/local =\nspec/gcePersistentDisk = {pdName: '', partition: 256}",
			"spec.persistentDisk.pdName: Required value\n" +
				"spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
		},
		"iscsi": {"spec/local =\nspec/iscsi = {targetPortal: a, iqn: iqn.a, lun: 256, chapAuthSession: true, initiatorName: a}", `
			spec.iscsi.iqn: Invalid value: "iqn.a": must be valid format
			spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive
			spec.iscsi.secretRef: Required value
			spec.iscsi.initiatorname: Invalid value: "a": must be valid format`},
		"fibre channel": {
			"spec/local =\nspec/fc = {targetWWNs: [a], wwids: [b]}",
			"spec.fc.targetWWNs: Invalid value: [\"a\"]: targetWWNs and wwids can not be specified simultaneously\n" +
				"spec.fc.lun: Required value: lun is required if targetWWNs is specified",
		},
		"flocker": {"spec/local =\nspec/flocker = {}", `spec.flocker: Required value: one of datasetName and datasetUUID is required`},
		"quobyte": {
			"spec/local =\nspec/quobyte = {registry: a, volume: b}",
			`spec.quobyte.registry: Invalid value: "a": must be a host:port pair or multiple pairs separated by commas`,
		},
		"flex": {
			"spec/local =\nspec/flexVolume = {driver: a, options: {kubernetes.io/a: b}}",
			`spec.flexVolume.options[kubernetes.io/a]: Invalid value: "kubernetes.io/a": kubernetes.io and k8s.io namespaces are reserved`,
		},
		"azure disk": {
			"spec/local =\nspec/azureDisk = {diskName: a, diskURI: b, kind: Managed}",
			`spec.azureDisk.diskURI: Unsupported value: "b": supported values: ` +
				`"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"`,
		},
		"storageos": {"spec/local =\nspec/storageos = {volumeName: a, secretRef: {}}", `
			spec.storageos.secretRef.name: Required value
			spec.storageos.secretRef.namespace: Required value`},
		"csi": {"spec/local =\nspec/csi = {driver: a, volumeHandle: b, nodeStageSecretRef: {}, nodePublishSecretRef: {name: A}}", `
			spec.csi.nodePublishSecretRef.name: Invalid value: "A": ` + subdomain + `
			spec.csi.nodePublishSecretRef.namespace: Required value`},
	}.run(t, "PersistentVolume")
}
