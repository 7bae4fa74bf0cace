package columns_test

import "testing"

func TestNode(t *testing.T) {
	rows{
		"ready": {
			object: `
apiVersion: v1
kind: Node
metadata:
  name: a
  creationTimestamp: "2026-01-02T00:00:00Z"
  labels:
    node-role.kubernetes.io/worker: ""
    node-role.kubernetes.io/control-plane: ""
    kubernetes.io/role: worker
    node-role.kubernetes.io/: ""
status:
  conditions: [{type: MemoryPressure, status: "False"}, {type: Ready, status: "True"}]
  addresses: [{type: Hostname, address: a}, {type: InternalIP, address: 10.0.0.1}, {type: ExternalIP, address: 1.2.3.4}]
  nodeInfo:
    kubeletVersion: v1.37.2
    osImage: Debian
    kernelVersion: "6.1"
    containerRuntimeVersion: containerd://2
    machineID: ""
    systemUUID: ""
    bootID: ""
    kubeProxyVersion: ""
    operatingSystem: ""
    architecture: ""
`,
			want: `
Name: a
Status: Ready
Roles: control-plane,worker
Age: 10m
Version: v1.37.2
Internal-IP*: 10.0.0.1
External-IP*: 1.2.3.4
OS-Image*: Debian
Kernel-Version*: 6.1
Container-Runtime*: containerd://2`,
		},
		"not ready and unschedulable": {
			object: `
apiVersion: v1
kind: Node
metadata: {name: a}
spec: {unschedulable: true}
status: {conditions: [{type: Ready, status: Unknown}]}
`,
			want: `
Name: a
Status: NotReady,SchedulingDisabled
Roles: <none>
Age: <unknown>
Version:
Internal-IP*: <none>
External-IP*: <none>
OS-Image*: <unknown>
Kernel-Version*: <unknown>
Container-Runtime*: <unknown>`,
		},
		"without status": {
			object: `{apiVersion: v1, kind: Node, metadata: {name: a}}`,
			want: `
Name: a
Status: Unknown
Roles: <none>
Age: <unknown>
Version:
Internal-IP*: <none>
External-IP*: <none>
OS-Image*: <unknown>
Kernel-Version*: <unknown>
Container-Runtime*: <unknown>`,
		},
	}.run(t)
}
