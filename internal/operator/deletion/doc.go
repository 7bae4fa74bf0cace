// Package deletion records which user deletes an Instance. The cleanup of the Instance has the
// rights of this user.
//
//	err := store.Record(ctx, instance, user)        // in admission of the DELETE
//	deletion, err := store.Get(ctx, instance)       // in the controller
//
// Admission of a DELETE cannot change the Instance, so each record is a ConfigMap in a
// namespace of the system. Its name contains the UID of the Instance, and its content is
// sealed (package operator/authorship). If a controller of the cluster, such as the garbage
// collector, deletes an Instance because another object was deleted, the record names no user.
//
// A record counts from lead before the deletion on, so that a delete that was refused long
// ago has no effect. While the Instance is being deleted, a record that counts is not
// replaced. A Store is safe for concurrent use.
package deletion
