package compare

import (
	"fmt"

	"holdfast.dev/holdfast/bench/manifest"
)

func configMaps() target {
	return target{path: "/api/v1/namespaces/default/configmaps", instance: manifest.ConfigMap, change: func(generation int) object {
		return object{"data": object{"generation": fmt.Sprint(generation)}}
	}}
}

func secrets() target {
	return target{path: "/api/v1/namespaces/default/secrets", instance: manifest.Secret, change: func(generation int) object {
		return object{"stringData": object{"generation": fmt.Sprint(generation)}}
	}}
}

// leases are the objects that a kubelet updates every ten seconds.
func leases() target {
	return target{
		path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", instance: manifest.Lease,
		change: func(generation int) object {
			return object{"spec": object{"renewTime": manifest.Lease("", generation)["spec"].(object)["renewTime"]}}
		},
	}
}

func nodes() target {
	return target{path: "/api/v1/nodes", instance: manifest.Node, status: manifest.NodeStatus}
}

func pods() target {
	return target{path: "/api/v1/namespaces/default/pods", instance: manifest.Pod, status: manifest.PodStatus}
}

func events() target {
	return target{path: "/api/v1/namespaces/default/events", instance: manifest.Event, change: func(generation int) object {
		return object{"count": generation, "lastTimestamp": manifest.Event("", generation)["lastTimestamp"]}
	}}
}
