// Package holdfast is the root of a Kubernetes-compatible control plane in one
// binary, in which what must not change, cannot. It holds no code: this page
// walks the parts in the order a user meets them.
//
// A user starts cmd/holdfast, which hands its arguments to
// [holdfast.dev/holdfast/cli]. The command serve puts a server together from
// [holdfast.dev/holdfast/apiserver]: the store, the chain that a request
// passes, and one place for each protection.
//
// Who sends a request, and what they may do, is for
// [holdfast.dev/holdfast/access], which also makes the certificates and the
// kubeconfig that a first start writes. What a request carries is one of the
// kinds of [holdfast.dev/holdfast/native], which knows their defaults, rules,
// frozen fields and columns, or of a kind that users define, for which
// [holdfast.dev/holdfast/definition] has the rules. What happens later and by itself is for
// [holdfast.dev/holdfast/lifecycle]: a deleted namespace is emptied, what an
// owner leaves behind is collected.
//
// The protections are engines: values in, answers out, no clock, disk or
// network. [holdfast.dev/holdfast/schema] is an OpenAPI v3 schema with
// Holdfast's extensions, [holdfast.dev/holdfast/skeleton] is its shape and
// drops what it has no place for, [holdfast.dev/holdfast/immutability] reads
// its markers and judges an update.
//
// Imports run one way, from the commands to the engines; the test beside this
// file holds that.
package holdfast
