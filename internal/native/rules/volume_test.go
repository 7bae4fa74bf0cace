package rules_test

import "testing"

func TestVolumes(t *testing.T) {
	const mode = "must be a number between 0 and 0777 (octal), both inclusive"
	edits{
		"name missing": {"spec/volumes/3/name =", `spec.volumes[3].name: Required value`},
		"name":         {"spec/volumes/3/name = A", `spec.volumes[3].name: Invalid value: "A": ` + label},
		"name twice":   {"spec/volumes/3/name = data", `spec.volumes[3].name: Duplicate value: "data"`},
		"two sources": {"spec/volumes/1/hostPath = {path: /a}", `
			spec.volumes[1].hostPath: Forbidden: may not specify more than 1 volume type
			spec.containers[0].volumeMounts[1].name: Not found: "data"
		`},
		"size limit": {
			"spec/volumes/1/emptyDir/sizeLimit = -1", `
			spec.volumes[1].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity
			spec.containers[0].volumeMounts[1].name: Not found: "data"
		`,
		},
		"host path": {"spec/volumes/3/hostPath = {path: /a/../b, type: X}", `
			spec.volumes[3].hostPath.path: Invalid value: "/a/../b": must not contain '..'
			spec.volumes[3].hostPath.type: Unsupported value: "X": supported values: "BlockDevice", "CharDevice", \
				"Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`},
		"host path missing": {"spec/volumes/3/hostPath/path =", `spec.volumes[3].hostPath.path: Required value`},
		"claim": {
			"spec/volumes/2/persistentVolumeClaim = {claimName: ''}", `
			spec.volumes[2].persistentVolumeClaim.claimName: Required value
			spec.containers[0].volumeDevices[0].name: Not found: "raw"
		`,
		},
		"nfs": {"spec/volumes/6/nfs = {path: a, server: ''}", `
			spec.volumes[6].nfs.server: Required value
			spec.volumes[6].nfs.path: Invalid value: "a": must be an absolute path`},
		"ephemeral": {
			"spec/volumes/4/ephemeral = {volumeClaimTemplate: }",
			`spec.volumes[4].ephemeral.volumeClaimTemplate: Required value`,
		},
		"ephemeral's claim": {
			"spec/volumes/4/ephemeral/volumeClaimTemplate/spec/accessModes =",
			`spec.volumes[4].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required`,
		},
		"csi": {"spec/volumes/7/csi/driver = -a", `spec.volumes[7].csi.driver: Invalid value: "-a": ` + subdomain},
		"secret": {"spec/volumes/5/secret = {defaultMode: 512}", `spec.volumes[5].secret.secretName: Required value
			spec.volumes[5].secret.defaultMode: Invalid value: 512: ` + mode},
		"config map": {"spec/volumes/0/configMap = {defaultMode: -1, items: [{key: '', path: ''}, " +
			"{key: a, path: /a, mode: 512}, {key: b, path: ..a}]}", `
			spec.volumes[0].configMap.items[0].key: Required value
			spec.volumes[0].configMap.items[0].path: Required value
			spec.volumes[0].configMap.items[1].path: Invalid value: "/a": must be a relative path
			spec.volumes[0].configMap.items[1].mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
			spec.volumes[0].configMap.items[2].path: Invalid value: "..a": must not start with '..'
			spec.volumes[0].configMap.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive
			spec.volumes[0].configMap.name: Required value
			spec.containers[0].volumeMounts[0].name: Not found: "config"
		`},
		"downward": {"spec/volumes/3 = {name: down, downwardAPI: {defaultMode: 512, items: [{path: ../a, mode: 512, " +
			"fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {resource: limits.cpu}}, {path: b}, " +
			"{path: c, fieldRef: {fieldPath: status.podIP}}, {path: d, resourceFieldRef: {resource: limits.cpu}}]}}", `
			spec.volumes[3].downwardAPI.path: Invalid value: "../a": must not contain '..'
			spec.volumes[3].downwardAPI.mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
			spec.volumes[3].downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously
			spec.volumes[3].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required
			spec.volumes[3].downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"
			spec.volumes[3].downwardAPI.resourceFieldRef.containerName: Required value
			spec.volumes[3].downwardAPI.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
		`},
		"projected": {"spec/volumes/8/projected = {defaultMode: 512, sources: [{secret: {items: [{key: a, path: a}]}, " +
			"configMap: {items: [{key: a, path: a}]}}, {downwardAPI: {items: [{path: a, " +
			"fieldRef: {fieldPath: metadata.name}}]}}, {serviceAccountToken: {path: a, expirationSeconds: 1}}, " +
			"{serviceAccountToken: {path: '', expirationSeconds: 4294967297}}]}", `
			spec.volumes[8].projected.sources[0].secret.name: Required value
			spec.volumes[8].projected.sources[0].configMap.name: Required value
			spec.volumes[8].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes
			spec.volumes[8].projected.sources[3].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds
			spec.volumes[8].projected.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
			spec.volumes[8].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source
			spec.volumes[8].projected: Invalid value: "a": conflicting duplicate paths
			spec.volumes[8].projected: Invalid value: "a": conflicting duplicate paths
			spec.volumes[8].projected.path: Required value
		`},
		"token path": {
			"spec/volumes/8/projected/sources/0/serviceAccountToken/path = ../a", `spec.volumes[8].projected.path: Invalid value: "../a": must not contain '..'`,
		},
		"trust bundle path": {
			"spec/volumes/8/projected/sources = [{clusterTrustBundle: {name: ca, path: ../a}}, {clusterTrustBundle: {name: ca, path: b}}, " +
				"{secret: {name: s, items: [{key: a, path: b}]}}]", `
			spec.volumes[8].projected.sources[0].clusterTrustBundle.path: Invalid value: "../a": must not contain '..'
			spec.volumes[8].projected: Invalid value: "b": conflicting duplicate paths
		`,
		},
	}.run(t, "Pod")
}
