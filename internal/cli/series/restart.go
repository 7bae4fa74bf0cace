package series

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// restart says what a change of the template does to the pods of a workload. restarts is true if the controller replaces them at once.
func (w *workload) restart() (restarts bool, text string) {
	object := w.live.Object
	strategy, _, _ := unstructured.NestedString(object, "spec", "updateStrategy", "type")
	replicas, hasReplicas, _ := unstructured.NestedInt64(object, "spec", "replicas")
	partition, _, _ := unstructured.NestedInt64(object, "spec", "updateStrategy", "rollingUpdate", "partition")
	paused, _, _ := unstructured.NestedBool(object, "spec", "paused")
	switch kind := w.resource.Resource; {
	case kind == "cronjobs":
		return false, "its next job uses it"
	case kind == "replicasets" || kind == "replicationcontrollers":
		return false, "its pods keep the old one until they are deleted"
	case kind != "deployments" && kind != "statefulsets" && kind != "daemonsets":
		return false, "its controller decides when pods use it"
	case hasReplicas && replicas == 0:
		return false, "it has no replicas, so no pod restarts"
	case paused:
		return false, "it is paused: its pods restart when it is resumed"
	case strategy == "OnDelete":
		return false, "its pods keep the old one until they are deleted (OnDelete)"
	case partition > 0:
		return true, fmt.Sprintf("its pods from number %d on restart", partition)
	}
	return true, "its pods restart"
}
