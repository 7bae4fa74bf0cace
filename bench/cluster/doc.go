// Package cluster runs kube-controller-manager, kube-scheduler and kubelets of Kubernetes on a server, and shows that workloads work.
//
// Its words:
//
//   - A hollow kubelet is the kubelet of Kubernetes without containers, from the program kubemark. Its pods run until they are deleted.
//   - A simulated node is a Node with a goroutine of this package as its kubelet. It watches the pods of its node with the credential of
//     the node, and writes their status as a kubelet does. The containers of pods that
//     are not restarted for ever end on it at once, with the exit code of a command such as "exit 1", or 0.
//   - A step is one thing that must work, such as the rollout of a Deployment. Each step has one line with what was seen.
//
// Steps runs the steps on one server:
//
//	err := cluster.Steps(ctx, server, settings, os.Stdout)
//
// Load measures a server with many nodes and pods.
package cluster
