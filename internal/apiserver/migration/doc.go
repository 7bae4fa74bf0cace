// Package migration writes the stored objects of a resource again, in the form in which the server stores them now: in the storage version of
// their definition, in the current encoding, and encrypted with the current key. It is what a StorageVersionMigration asks for.
//
//	m := migration.New(config)
//	start, err := m.Begin(ctx, resource)
//	err = m.Run(ctx, resource, start, func(read, written int) {})
//
// The objects are written in etcd, below admission and validation: nothing judges them, because their meaning does not change: the server stores what a GET returns. The
// transaction of each write compares the revision of the object, and for a custom resource that of its definition. Watches see a write as the
// event MODIFIED.
//
// An object that is stored in this form already is not written. Kubernetes does the same: its migration sends an empty patch for each object, and
// its API server does not write an object if its text stays the same and it is encrypted with the current key.
//
// A Migrator is safe for concurrent use.
package migration
