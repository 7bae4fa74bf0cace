// Package fieldownership runs package ownership in the server: on every update of
// every kind, and on its scale.
//
// A [Checker] takes part in a write at four places. Its filter ([Checker.Filter])
// reads from the request which client writes, and adds the warnings once the write
// is stored. Its admission ([Checker.Admission]) keeps the object as the person
// edited it, before webhooks change it. The registries call [Checker.Prepare] when
// they prepare an update and [Checker.Check] when they validate it. The server
// remembers which imperative command wrote which field, see [Memory].
//
// The nil Checker judges nothing. Everything here is safe for concurrent use.
package fieldownership
