// Package guard makes the same writes on four clusters and compares what they answer:
//
//   - holdfast: our server
//   - webhook: kube-apiserver with "holdfast guard serve"
//   - policy: kube-apiserver with the policies of "holdfast schema compile --to policy"
//   - cel: kube-apiserver with the rules of "holdfast schema compile --to cel"
//
// It writes and deletes objects with every constraint, condition and right in every way that a client has, and prints a table of it.
// On the first two it also makes random writes and deletions, as users with different rights, with rules of every kind, and changes
// of a definition.
//
// The table of exceptions names every difference that is known. Any other difference is an error, and so is an exception that
// explains nothing. Then the package kills guards, replaces their keys and changes policies, while clients write. Record stores the
// reviews that kube-apiserver sends to the guard, for the tests of the guard that need no kube-apiserver.
//
//	err := guard.Run(ctx, dir, guard.Settings{Holdfast: "bin/holdfast", Peer: "bin/peer", Kubectl: "kubectl", Seed: 1, Writes: 1000})
//
// All programs are processes of their own.
package guard
