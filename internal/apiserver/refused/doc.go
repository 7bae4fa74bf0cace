// Package refused keeps the writes of the last hour that a protection of the server has refused, for the console: the time, the user,
// the verb, the object, the fields and the reason, and never a value.
//
//	metrics.CountRefusals(config, record.Add)
//	writes := record.Seen(ctx, rights)
//
// The record is in the memory of one server. It is lost at a restart, other servers do not have it, and it keeps at most 1,000 writes; the
// audit log is the complete list. Dry runs are not in it. A user sees a write only if the user may get its object. All methods are safe
// for concurrent use.
package refused
