package compare

import (
	"fmt"
	"time"
)

// leases are the objects that a kubelet updates every ten seconds.
func leases() target {
	return target{path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", instance: func(name string, generation int) object {
		return object{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": object{"name": name, "namespace": "kube-node-lease"},
			"spec": object{"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": moment(generation).Format("2006-01-02T15:04:05.000000Z")},
		}
	}}
}

// moment returns a time that differs for each generation.
func moment(generation int) time.Time {
	return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(generation) * time.Second)
}

func nodes() target {
	return target{path: "/api/v1/nodes", instance: node, status: nodeStatus}
}

// node returns a Node with the labels that a kubelet sets.
func node(name string, _ int) object {
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "labels": object{
		"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": "m.large",
	}}}
}

// nodeStatus returns the status that a kubelet writes every five minutes. Its list of images has a usual length.
func nodeStatus(generation int) object {
	capacity := object{"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "200Gi"}
	var conditions, images list
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		conditions = append(conditions, object{
			"type": kind, "status": map[bool]string{true: "True", false: "False"}[kind == "Ready"], "reason": "KubeletHas",
			"message": "kubelet has what it needs", "lastHeartbeatTime": moment(generation).Format(time.RFC3339),
			"lastTransitionTime": moment(0).Format(time.RFC3339),
		})
	}
	for i := range 30 {
		name := fmt.Sprintf("registry.example.com/fleet/image-%02d", i)
		images = append(images, object{"names": list{name + ":1.27.4", fmt.Sprintf("%s@sha256:%064d", name, i)}, "sizeBytes": 52_428_800})
	}
	return object{"status": object{
		"capacity": capacity, "allocatable": capacity, "conditions": conditions, "images": images,
		"addresses": list{object{"type": "InternalIP", "address": "10.0.0.1"}},
		"nodeInfo": object{
			"machineID": "7b1e", "systemUUID": "7b1e", "bootID": "7b1e", "kernelVersion": "6.8.0", "osImage": "Linux", "architecture": "amd64",
			"containerRuntimeVersion": "containerd://2.1.0", "kubeletVersion": "v1.36.3", "kubeProxyVersion": "", "operatingSystem": "linux",
		},
	}}
}

func pods() target {
	return target{path: "/api/v1/namespaces/default/pods", instance: pod, status: podStatus}
}

// pod returns a pod that no node runs.
func pod(name string, generation int) object {
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "namespace": "default", "labels": object{"app": "web", "generation": fmt.Sprint(generation)}},
		"spec": object{"containers": list{object{
			"name": "main", "image": "registry.example.com/fleet/web:1.27.4", "args": list{"--listen=:8080", "--level=info"},
			"env": list{
				object{"name": "LOG_LEVEL", "value": "info"},
				object{"name": "POD_IP", "valueFrom": object{"fieldRef": object{"fieldPath": "status.podIP"}}},
			},
			"ports":          list{object{"name": "http", "containerPort": 8080}},
			"resources":      object{"requests": object{"cpu": "100m", "memory": "128Mi"}, "limits": object{"memory": "256Mi"}},
			"readinessProbe": object{"httpGet": object{"path": "/ready", "port": "http"}},
			"volumeMounts":   list{object{"name": "config", "mountPath": "/etc/web"}},
		}}, "volumes": list{object{"name": "config", "configMap": object{"name": "web", "optional": true}}}},
	}
}

// podStatus returns the status of a pod that runs.
func podStatus(generation int) object {
	at := moment(generation).Format(time.RFC3339)
	var conditions list
	for _, kind := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, object{"type": kind, "status": "True", "lastTransitionTime": at})
	}
	const address = "10.128.0.7" // a pod keeps its address
	return object{"status": object{
		"phase": "Running", "startTime": at, "podIP": address, "podIPs": list{object{"ip": address}}, "conditions": conditions,
		"containerStatuses": list{object{
			"name": "main", "image": "registry.example.com/fleet/web:1.27.4", "imageID": fmt.Sprintf("sha256:%064d", 1),
			"containerID": fmt.Sprintf("containerd://%064d", generation), "ready": true, "started": true, "restartCount": 0,
			"state": object{"running": object{"startedAt": at}},
		}},
	}}
}

func events() target {
	return target{path: "/api/v1/namespaces/default/events", instance: func(name string, generation int) object {
		at := moment(generation).Format(time.RFC3339)
		return object{
			"apiVersion": "v1", "kind": "Event", "metadata": object{"name": name, "namespace": "default"},
			"involvedObject": object{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web-7d4b9", "uid": "5a1c"},
			"reason":         "Scheduled", "message": "Successfully assigned default/web-7d4b9 to node-0042", "type": "Normal",
			"source": object{"component": "default-scheduler"}, "firstTimestamp": at, "lastTimestamp": at, "count": 1,
		}
	}}
}
