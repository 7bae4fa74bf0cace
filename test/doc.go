// Package test holds the end-to-end tests: kubectl, controller-runtime and Helm
// against a real server in the process of the test, and faults of real processes. Package upstream
// compares the built-in kinds with the code of Kubernetes.
//
// It is a module of its own, so that the product's go.mod does not have the
// dependencies of these tests.
package test
