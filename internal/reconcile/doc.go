// Package reconcile runs the work queue of a controller.
//
// A Loop holds the keys of objects that need work. Workers take the keys and
// call the controller's Reconcile function with each:
//
//	loop := reconcile.New(reconcile.Config[cache.ObjectName]{Reconcile: c.reconcile, Workers: 4})
//	loop.Add(name)
//	loop.Run(ctx, informer.HasSynced)
//
// Two workers never reconcile the same key at the same time. A key that is added
// while a worker reconciles it is reconciled again afterwards. A key that is added
// several times before a worker takes it is reconciled once. Config.Group can limit
// how many keys of one group are reconciled at the same time.
//
// A key that Reconcile returns an error for is retried after FirstRetry, and after
// twice as long with each further error, up to LastRetry. Success resets the delay.
// Every error is logged, except ErrNotYet and conflicts: those are part of normal
// operation.
package reconcile
