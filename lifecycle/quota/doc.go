// Package quota holds namespaces to their ResourceQuotas: admission charges a
// quota for what a request would use before it is stored, and the ledger gives
// back what is not used any more.
//
//	plugin := quota.NewAdmission(quotas, client)
//	ledger := quota.NewLedger()
//
// Its words: the use of an object is what it counts for under each name that a
// quota can limit ("pods", "requests.cpu", "count/widgets.example.com"). Some
// kinds are measured: pods, services and claims have more to them than their
// number. All others are counted. An account is what the ledger knows of one
// quota: the tally of what is there, and what was released since its status was
// last written.
//
// Promises: a charge is a compare-and-swap of the quota's status, made before
// the object is stored, so no number of clients or servers exceeds a limit.
// Nothing is refused on an old view of a quota. What is released is given back
// by the amount that was released, so a charge whose object is still on its way
// is not lost; a charge that led to nothing is given back after a while. A
// namespace without quotas costs one lookup in an index. A deletion costs the
// same however many objects there are. All types may be used by many goroutines.
package quota
