// Package exchange replaces objects on servers that cannot do it in one write. It deletes the old object and creates the new one, with a
// journal of package journal in a Secret from before the deletion until the end.
//
//	exchanger := &exchange.Exchanger{Objects: objects, Cluster: cluster}
//	err := exchanger.Check(ctx, target)
//	result, err := exchanger.Replace(ctx, target)
//	result, err = exchanger.Resume(ctx, entry, restores) // what an earlier run left
//
// It works with every Kubernetes API server, and with Holdfast too. A process that ends at any moment leaves a state from which Finish goes on:
// each step is a request with a precondition, and the stored object shows how far the replacement is. So two processes may finish the same
// journal at once.
//
// If the server refuses the new object for good after the old one is gone, the old object is created again.
//
// The package does not trust a journal: every user that may write Secrets in its namespace can write one, in any name. Continues says what a
// run may do with a journal that it has not written.
package exchange
