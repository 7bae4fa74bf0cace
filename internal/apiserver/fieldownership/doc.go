// Package fieldownership runs package ownership in the server: on every update of an object
// of any kind, of its scale and of its status. To judge a write means to find the fields of
// other owners that the write changes. The result is a verdict, with warnings and refusals.
//
// A [Checker] takes part in a write at four places. Its filter ([Checker.Filter]) finds out
// which client sends the write, and adds warnings to the response once the write is stored.
// Its admission ([Checker.Admission]) keeps the object as the user edited it, before
// webhooks change it. The registries call [Checker.Prepare] when they prepare an update and
// [Checker.Check] when they validate it. The server remembers which imperative command
// wrote which field, see [Memory].
//
// A nil Checker allows all writes without warnings. Everything here is safe for concurrent
// use.
package fieldownership
