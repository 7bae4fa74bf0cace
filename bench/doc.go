// Command bench runs the same work on holdfast serve and on kube-apiserver with etcd, and prints what each of them does with it.
//
//	bench attack        slow bodies of one user, while other clients go on (package attack)
//	bench cluster       stock components on the server: workloads, nodes and packages (package cluster)
//	bench compare       the cost of requests, watches, definitions and starts (package compare)
//	bench conformance   the conformance tests of Kubernetes (package conformance)
//	bench guard         the same writes on our server and on kube-apiserver with the guard, policies and CEL (package guard)
//	bench kudo          operator packages on kube-apiserver: init, manager, and the life of a package
//	bench replacement   apply --replace on kube-apiserver, killed at each of its requests and run again
//	bench scale         what the figures of compare mean for clusters: nodes, definitions and limits (package scale)
//	bench scale-run     a large cluster on one server, for real: nodes, pods, changes, a restart and lost nodes (package scalerun)
//
// The flag -peer names a directory with kube-apiserver and etcd, which "make bin/peer/kube-apiserver bin/peer/etcd" builds. Without it, the command runs on Holdfast
// alone.
//
// This module imports no other module, and nothing of the root module. It reaches both servers only through their binaries and HTTP, so
// both are measured by the same means. A client without client-go takes little CPU time from the servers, and the program compiles in
// seconds.
package main
