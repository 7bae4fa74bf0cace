// Package envtest holds a test suite as kubebuilder writes it for a project: it starts kube-apiserver and etcd with envtest of
// controller-runtime, and runs a manager with a reconciler and webhooks. The programs are those of "holdfast envtest".
//
//	KUBEBUILDER_ASSETS=$(holdfast envtest) go test ./...
//
// The benchmark measures the start beside the real programs, in the directory that HOLDFAST_PEER names:
//
//	HOLDFAST_PEER=$PWD/bin/peer go -C test test -run '^$' -bench Start ./envtest
package envtest
