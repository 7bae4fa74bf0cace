// Package gate judges changes of CustomResourceDefinitions by the stored objects.
//
// A change can lose data of stored objects or make them invalid. The policy of a definition says which of these the server refuses: none
// (warn), losses (refuse-loss), or both (refuse-breaking). The registry of definitions asks the gate about each write:
//
//	review := g.Review(dryRun)
//	err := review.Update(ctx, oldCRD, newCRD, false)
//
// If the error is ErrMustClose, nothing is to be refused so far. The registry closes the kind for writes and asks the same review again,
// with true, and the review reads what was written since. When the definition is stored, it calls review.Announce for the warnings.
//
// A Gate is safe for concurrent use. A Review belongs to one request.
package gate
