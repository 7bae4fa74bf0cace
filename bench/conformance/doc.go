// Package conformance runs the conformance tests of Kubernetes on Holdfast and on kube-apiserver, and writes a page with the results.
//
// The tests are those of the conformance list of Kubernetes, from its e2e program. They run on a server with kube-controller-manager,
// kube-scheduler and nodes without a container runtime (package cluster). There are three kinds of tests:
//
//   - Most tests run on hollow kubelets, whose containers run until they are deleted.
//   - The tests of simulated.txt need containers that end, or pods with different addresses. They run on simulated nodes.
//   - The tests of containers.txt need what a container does: its output, exit code, files or network traffic. They do not run. The file
//     has the reason for each.
//
// Each test has a process of the e2e program of its own, with a time limit:
//
//	err := conformance.Hollow(ctx, side.Holdfast("bin/holdfast"), names, settings)
//
// Results are kept in a file, so a run of some tests changes only their results on the page.
package conformance
