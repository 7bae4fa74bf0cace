package manifest

import (
	"fmt"
	"time"
)

// Lease returns the object that a kubelet updates every ten seconds.
func Lease(name string, generation int) Map {
	return LeaseAt(name, moment(generation))
}

// LeaseAt returns the Lease of a node that was renewed at a time.
func LeaseAt(name string, renewed time.Time) Map {
	return Map{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": Map{"name": name, "namespace": "kube-node-lease"},
		"spec": Map{
			"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed.UTC().Format("2006-01-02T15:04:05.000000Z"),
		},
	}
}

// Node returns a Node with the labels that a kubelet sets.
func Node(name string, _ int) Map {
	return Map{"apiVersion": "v1", "kind": "Node", "metadata": Map{"name": name, "labels": Map{
		"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": "m.large",
	}}}
}

// NodeStatus returns the status that a kubelet writes every five minutes. Its list of images has a usual length.
func NodeStatus(generation int) Map {
	capacity := Map{"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "200Gi"}
	var conditions, images List
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		conditions = append(conditions, Map{
			"type": kind, "status": map[bool]string{true: "True", false: "False"}[kind == "Ready"], "reason": "KubeletHas",
			"message": "kubelet has what it needs", "lastHeartbeatTime": moment(generation).Format(time.RFC3339),
			"lastTransitionTime": moment(0).Format(time.RFC3339),
		})
	}
	for i := range 30 {
		name := fmt.Sprintf("registry.example.com/fleet/image-%02d", i)
		images = append(images, Map{"names": List{name + ":1.27.4", fmt.Sprintf("%s@sha256:%064d", name, i)}, "sizeBytes": 52_428_800})
	}
	return Map{"status": Map{
		"capacity": capacity, "allocatable": capacity, "conditions": conditions, "images": images,
		"addresses": List{Map{"type": "InternalIP", "address": "10.0.0.1"}},
		"nodeInfo": Map{
			"machineID": "7b1e", "systemUUID": "7b1e", "bootID": "7b1e", "kernelVersion": "6.8.0", "osImage": "Linux", "architecture": "amd64",
			"containerRuntimeVersion": "containerd://2.1.0", "kubeletVersion": "v1.36.3", "kubeProxyVersion": "", "operatingSystem": "linux",
		},
	}}
}
