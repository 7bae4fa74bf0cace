package manifest

import (
	"fmt"
	"time"
)

// Pod returns a pod that no node runs.
func Pod(name string, generation int) Map {
	return Map{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": Map{"name": name, "namespace": "default", "labels": Map{"app": "web", "generation": fmt.Sprint(generation)}},
		"spec": Map{"containers": List{Map{
			"name": "main", "image": "registry.example.com/fleet/web:1.27.4", "args": List{"--listen=:8080", "--level=info"},
			"env": List{
				Map{"name": "LOG_LEVEL", "value": "info"},
				Map{"name": "POD_IP", "valueFrom": Map{"fieldRef": Map{"fieldPath": "status.podIP"}}},
			},
			"ports":          List{Map{"name": "http", "containerPort": 8080}},
			"resources":      Map{"requests": Map{"cpu": "100m", "memory": "128Mi"}, "limits": Map{"memory": "256Mi"}},
			"readinessProbe": Map{"httpGet": Map{"path": "/ready", "port": "http"}},
			"volumeMounts":   List{Map{"name": "config", "mountPath": "/etc/web"}},
		}}, "volumes": List{Map{"name": "config", "configMap": Map{"name": "web", "optional": true}}}},
	}
}

// PodStatus returns the status of a pod that runs.
func PodStatus(generation int) Map {
	at := moment(generation).Format(time.RFC3339)
	var conditions List
	for _, kind := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, Map{"type": kind, "status": "True", "lastTransitionTime": at})
	}
	const address = "10.128.0.7" // a pod keeps its address
	return Map{"status": Map{
		"phase": "Running", "startTime": at, "podIP": address, "podIPs": List{Map{"ip": address}}, "conditions": conditions,
		"containerStatuses": List{Map{
			"name": "main", "image": "registry.example.com/fleet/web:1.27.4", "imageID": fmt.Sprintf("sha256:%064d", 1),
			"containerID": fmt.Sprintf("containerd://%064d", generation), "ready": true, "started": true, "restartCount": 0,
			"state": Map{"running": Map{"startedAt": at}},
		}},
	}}
}

// Event returns an event about a pod.
func Event(name string, generation int) Map {
	at := moment(generation).Format(time.RFC3339)
	return Map{
		"apiVersion": "v1", "kind": "Event", "metadata": metadata(name),
		"involvedObject": Map{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web-7d4b9", "uid": "5a1c"},
		"reason":         "Scheduled", "message": "Successfully assigned default/web-7d4b9 to node-0042", "type": "Normal",
		"source": Map{"component": "default-scheduler"}, "firstTimestamp": at, "lastTimestamp": at, "count": 1,
	}
}
