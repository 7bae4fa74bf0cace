// Package upstream compares the built-in kinds of our server with the code of Kubernetes: their
// defaults, validation, strategies, warnings, printed columns and field selectors.
//
// The program in test/oracle has the code of Kubernetes. The test sends it objects, takes the same
// objects through the registries of our server, and compares both answers. The objects are the
// manifests in the tests and examples of this repository, and generated changes of them, with
// fixed seeds.
//
//	HOLDFAST_ORACLE_ROUNDS=30 go test ./upstream   # 30 generated objects of each kind
//
// HOLDFAST_ORACLE_KINDS is a regular expression that restricts the kinds, and HOLDFAST_ORACLE_REPORT
// a file to which the test writes the differences, each with a request that shows it.
//
// Without HOLDFAST_ORACLE_ROUNDS, the test is skipped: the code of Kubernetes takes minutes to compile. "make compare WHAT=oracle" sets it.
//
// A second test sends random writes to our server and to kube-apiserver, and compares the answers. So it covers what only a whole
// server does: patches and applies, the owners of fields, the addresses of Services, scales, bindings, evictions, deletions, and custom resources. The
// definitions of these are in testdata/definitions.
//
//	HOLDFAST_WRITES=1000 go test ./upstream   # 1000 writes of custom resources, and 1000 of built-in kinds
//
// testdata/exceptions.yaml lists the differences that stay, with their reasons, and testdata/writes.yaml those that only the second
// test meets. A test fails if it finds a difference that is not in the lists, or does not find one that is.
package upstream
