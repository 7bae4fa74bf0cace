// Package scheduling has the admission plugins that set the fields of new pods that a
// scheduler reads. They have the names, rules and messages that they have in Kubernetes:
//
//   - Priority sets the priority of a pod from its PriorityClass;
//   - DefaultTolerationSeconds lets a pod stay on a failed node for five minutes;
//   - RuntimeClass sets the overhead, node selector and tolerations of a RuntimeClass;
//   - PodTopologyLabels copies the zone and region of the node to the pod.
//
// The plugins read classes and nodes from informers. A class or node that an informer does
// not have is read from the server, so a pod may name a class that was created just before.
//
//	plugin := scheduling.NewPriority(factory.Scheduling().V1().PriorityClasses(), client.SchedulingV1())
//
// Each plugin is idempotent: the server calls Admit again after a webhook has changed the pod.
package scheduling
