// Package quota enforces ResourceQuotas. The admission plugin charges a quota for the
// usage of an object before the object is stored: it adds the usage to status.used of
// the quota. The Ledger, in the controller, subtracts the usage of objects that were
// deleted or that use less than before.
//
//	plugin := quota.NewAdmission(quotas, client)
//	ledger := quota.NewLedger()
//
// The usage of an object is its amount under each resource name that a quota can
// limit, such as "pods", "requests.cpu" or "count/widgets.example.com". Pods, services
// and PersistentVolumeClaims are evaluated: their usage depends on their content. For
// all other kinds, only the number of objects counts. An account is what the Ledger
// knows about one quota: the usage of the objects that exist, and the usage that was
// released since the status of the quota was last written.
//
// A charge is a compare-and-swap of the quota's status, so concurrent clients and
// servers cannot exceed a limit. A request is never rejected because of a cached quota
// that may be outdated. The Ledger subtracts released amounts instead of setting the
// counted usage, so it keeps charges for objects that are not stored yet. If the object
// of a charge is never stored, the Ledger subtracts the charge after some seconds. In a
// namespace without quotas, a request costs one index lookup. The cost of a deletion does
// not depend on the number of objects. All types are safe for concurrent use.
package quota
