// Command oracle answers how Kubernetes treats objects of its built-in kinds. It calls the
// registries, validation, defaults and printers of k8s.io/kubernetes, and package
// holdfast.dev/holdfast/test/upstream compares the answers with ours.
//
// It reads one [Request] in JSON from each line of standard input, and writes one [Answer] in
// JSON to a line of standard output. It stops when the input ends.
//
// The module has the libraries of Kubernetes in the version that fits k8s.io/kubernetes. Our
// server has newer ones, and one program cannot have both.
package main
