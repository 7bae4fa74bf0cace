// Package holdfast is the root of a Kubernetes-compatible control plane in one
// binary, which keeps immutable fields immutable. It contains no code. This page
// names the packages in the order in which a user meets them.
//
// # The program
//
// The program is cmd/holdfast. [holdfast.dev/holdfast/cli] has its commands:
// serve, node, kudo, schema, kubeconfig, backup, and those of kubectl.
//
// # The server
//
// "holdfast serve" runs [holdfast.dev/holdfast/apiserver], which opens the store,
// builds the handler chain of a request and installs the API groups.
// [holdfast.dev/holdfast/access] authenticates and authorizes a request; it also
// issues the certificates and the kubeconfig that the first start writes.
//
// A request is about a built-in kind or a custom resource.
// [holdfast.dev/holdfast/native] has the built-in kinds, with their defaults,
// rules, immutable fields and columns. [holdfast.dev/holdfast/definition] has the
// CustomResourceDefinitions: their rules, and the compiled form with which the
// server prunes, defaults and validates custom resources.
//
// [holdfast.dev/holdfast/backup] is the file format of backups, which have all objects
// and the keys of a server.
//
// Controllers run inside the server. [holdfast.dev/holdfast/lifecycle] deletes the
// objects of a deleted namespace and the dependents of a deleted owner, and
// accounts for quotas. Three small packages serve all controllers:
// [holdfast.dev/holdfast/reconcile] is their work queue,
// [holdfast.dev/holdfast/connection] makes their clients, and
// [holdfast.dev/holdfast/broadcast] wakes goroutines that wait for the same event.
// [holdfast.dev/holdfast/admissionreview] serves the reviews that an API server sends to
// the webhooks of the operator packages and of the guard.
// [holdfast.dev/holdfast/protection] counts the writes that the protections refuse.
// [holdfast.dev/holdfast/walltime] notices that the clock of the machine was set.
// [holdfast.dev/holdfast/heap] lets the heap of a busy process grow, within its memory limit, and
// [holdfast.dev/holdfast/stack] the stack of a goroutine.
//
// # Operator packages
//
// The packages below holdfast.dev/holdfast/operator read, render, admit and run
// operator packages. [holdfast.dev/holdfast/manager] does this on a cluster that is
// not a Holdfast server.
//
// # Other clusters
//
// [holdfast.dev/holdfast/guard] protects immutable fields on a cluster that another API
// server serves, with the rules and the answers of this one.
// [holdfast.dev/holdfast/installation] applies and removes the objects of such a program.
//
// # Files
//
// "holdfast schema" judges definitions in files, without a server.
// [holdfast.dev/holdfast/manifest] reads YAML files and knows the line of each field;
// [holdfast.dev/holdfast/finding] has the results and their output formats. The Go types
// in holdfast.dev/holdfast/examples/boats are an example for "holdfast schema generate".
//
// # Nodes
//
// "holdfast node" runs [holdfast.dev/holdfast/node], an agent that writes the
// volumes of pods to files on a host. [holdfast.dev/holdfast/projection] computes
// the files of a volume and replaces them atomically.
//
// # Engines
//
// The rules are in engines. An engine computes its result from its arguments; it
// uses no clock, disk or network, so it can be used without the server.
//
//   - [holdfast.dev/holdfast/schema] is an OpenAPI v3 schema with Holdfast's
//     extensions.
//   - [holdfast.dev/holdfast/skeleton] derives the structure of a schema and drops
//     the fields of an object that the structure does not contain.
//   - [holdfast.dev/holdfast/immutability] reads the markers of a schema and finds
//     the changes of an update that they forbid.
//   - [holdfast.dev/holdfast/ownership] finds the fields that a write changes and
//     another client owns.
//   - [holdfast.dev/holdfast/parameters] decides which parameters of an operator an
//     update, upgrade or rollback may change.
//   - [holdfast.dev/holdfast/value] compares JSON values for all of them, and
//     [holdfast.dev/holdfast/nesting] bounds how deep values are nested.
//
// Imports go one way, from the program to the engines. The test beside this file
// checks that.
package holdfast
