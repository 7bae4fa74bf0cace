package defaults_test

import "testing"

func TestVolumes(t *testing.T) {
	manifests{
		"of a pod": {
			in: podOf(`
  volumes:
  - {name: nothing}
  - {name: secret, secret: {secretName: s}}
  - {name: secret-with-mode, secret: {secretName: s, defaultMode: 256}}
  - {name: configmap, configMap: {name: c}}
  - {name: downward, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}
  - name: projected
    projected:
      sources:
      - {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}
      - {serviceAccountToken: {path: t}}
      - {podCertificate: {signerName: a/b, keyType: ED25519}}
  - {name: ephemeral, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 100u}}}}}}
  - {name: host, hostPath: {path: /x}}
  - {name: iscsi, iscsi: {targetPortal: t, iqn: q, lun: 0}}
  - {name: rbd, rbd: {image: i, monitors: [m]}}
  - {name: azure, azureDisk: {diskName: d, diskURI: u}}
  - {name: scaleio, scaleIO: {gateway: g, system: s, secretRef: {name: r}}}
  - {name: image, image: {reference: a}}
`),
			want: podOf(podDefaults + `
  volumes:
  - {name: nothing, emptyDir: {}}
  - {name: secret, secret: {secretName: s, defaultMode: 420}}
  - {name: secret-with-mode, secret: {secretName: s, defaultMode: 256}}
  - {name: configmap, configMap: {name: c, defaultMode: 420}}
  - {name: downward, downwardAPI: {defaultMode: 420, items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}
  - name: projected
    projected:
      defaultMode: 420
      sources:
      - {downwardAPI: {items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}
      - {serviceAccountToken: {path: t, expirationSeconds: 3600}}
      - {podCertificate: {signerName: a/b, keyType: ED25519, maxExpirationSeconds: 86400}}
  - {name: ephemeral, ephemeral: {volumeClaimTemplate: {spec: {volumeMode: Filesystem, resources: {requests: {storage: 1m}}}}}}
  - {name: host, hostPath: {path: /x, type: ""}}
  - {name: iscsi, iscsi: {targetPortal: t, iqn: q, lun: 0, iscsiInterface: default}}
  - {name: rbd, rbd: {image: i, monitors: [m], pool: rbd, user: admin, keyring: /etc/ceph/keyring}}
  - {name: azure, azureDisk: {diskName: d, diskURI: u, cachingMode: ReadWrite, kind: Shared, fsType: ext4, readOnly: false}}
  - {name: scaleio, scaleIO: {gateway: g, system: s, secretRef: {name: r}, storageMode: ThinProvisioned, fsType: xfs}}
  - {name: image, image: {reference: a, pullPolicy: Always}}
`),
		},
		"PersistentVolume on a host": {
			in: `{apiVersion: v1, kind: PersistentVolume, spec: {capacity: {storage: 100u}, hostPath: {path: /x}}}`,
			want: `
apiVersion: v1
kind: PersistentVolume
spec:
  capacity: {storage: 1m}
  hostPath: {path: /x, type: ""}
  persistentVolumeReclaimPolicy: Retain
  volumeMode: Filesystem
status: {phase: Pending}
`,
		},
		"PersistentVolume of many sources": {
			in: `
apiVersion: v1
kind: PersistentVolume
spec:
  persistentVolumeReclaimPolicy: Delete
  volumeMode: Block
  iscsi: {targetPortal: t, iqn: q, lun: 0}
  rbd: {image: i, monitors: [m]}
  azureDisk: {diskName: d, diskURI: u}
  scaleIO: {gateway: g, system: s, secretRef: {name: r}}
status: {phase: Bound}
`,
			want: `
apiVersion: v1
kind: PersistentVolume
spec:
  persistentVolumeReclaimPolicy: Delete
  volumeMode: Block
  iscsi: {targetPortal: t, iqn: q, lun: 0, iscsiInterface: default}
  rbd: {image: i, monitors: [m], pool: rbd, user: admin, keyring: /etc/ceph/keyring}
  azureDisk: {diskName: d, diskURI: u, cachingMode: ReadWrite, kind: Shared, fsType: ext4, readOnly: false}
  scaleIO: {gateway: g, system: s, secretRef: {name: r}, storageMode: ThinProvisioned, fsType: xfs}
status: {phase: Bound}
`,
		},
		"PersistentVolumeClaim": {
			in: `
apiVersion: v1
kind: PersistentVolumeClaim
spec: {resources: {requests: {storage: 100u}, limits: {storage: 100u}}}
status: {capacity: {storage: 100u}, allocatedResources: {storage: 100u}}
`,
			want: `
apiVersion: v1
kind: PersistentVolumeClaim
spec: {volumeMode: Filesystem, resources: {requests: {storage: 1m}, limits: {storage: 1m}}}
status: {phase: Pending, capacity: {storage: 1m}, allocatedResources: {storage: 1m}}
`,
		},
		"PersistentVolumeClaim with dataSourceRef to another namespace": {
			in: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeMode: Block, dataSourceRef: {kind: Thing, ` +
				`name: t, namespace: other}}, status: {phase: Lost}}`,
			want: `
apiVersion: v1
kind: PersistentVolumeClaim
spec:
  volumeMode: Block
  dataSourceRef: {kind: Thing, name: t, namespace: other}
status: {phase: Lost}
`,
		},
	}.run(t)
}
