package cluster

import "slices"

// object has the fields of all kinds that the steps read.
type object struct {
	Metadata struct {
		Name, Namespace, UID, ResourceVersion string
		CreationTimestamp, DeletionTimestamp  string
		Generation                            int64
		OwnerReferences                       []struct{ Kind, Name string }
		Annotations                           map[string]string
	}
	Spec struct {
		NodeName, RestartPolicy    string
		InitContainers, Containers []container
		Template                   struct {
			Spec struct {
				Containers []struct{ Image string }
				Volumes    []struct{ ConfigMap struct{ Name string } }
			}
		}
		Taints []struct{ Key string }
	}
	Status struct {
		Phase              string
		ObservedGeneration int64
		// Deployments, ReplicaSets and StatefulSets.
		Replicas, UpdatedReplicas, ReadyReplicas, AvailableReplicas int
		// DaemonSets.
		DesiredNumberScheduled, NumberReady int
		// Jobs.
		Succeeded int
		// PodDisruptionBudgets.
		DisruptionsAllowed int
		// ResourceQuotas.
		Used       map[string]string
		Conditions []condition
		// Instances.
		PlanStatus map[string]struct{ Status string }
	}
	Endpoints []struct {
		Addresses  []string
		Conditions struct{ Ready bool }
	}
}

type condition struct{ Type, Status, Reason, Message, LastTransitionTime string }

// is reports whether a condition is true.
func (o *object) is(kind string) bool { return o.condition(kind).Status == "True" }

// condition returns a condition, or the zero value.
func (o *object) condition(kind string) condition {
	at := slices.IndexFunc(o.Status.Conditions, func(c condition) bool { return c.Type == kind })
	if at < 0 {
		return condition{}
	}
	return o.Status.Conditions[at]
}

// tolerable returns the number of taints that do not come from the state of the node.
func (o *object) tolerable() int {
	count := 0
	for _, taint := range o.Spec.Taints {
		if taint.Key == simulatedKey {
			count++
		}
	}
	return count
}

// runs reports whether a pod is ready and not being deleted.
func (o *object) runs() bool { return o.is("Ready") && o.Metadata.DeletionTimestamp == "" }
