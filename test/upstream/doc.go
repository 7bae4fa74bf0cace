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
// Without the variable, the test is skipped: the code of Kubernetes takes minutes to compile. "make compare WHAT=oracle" sets it.
//
// testdata/exceptions.yaml lists the differences that stay, with their reasons. The test fails if
// it finds a difference that is not in the list, or does not find one that is.
package upstream
