// Package guard runs package ownership in the server: on every update of every
// kind, and on its scale.
//
// A [Guard] stands at four places of a write. Its filter ([Guard.Filter]) learns
// from the request who writes, and adds the warnings once the write is stored.
// Its admission ([Guard.Admission]) keeps what a person edited as it was before
// others changed it. The registries call [Guard.Prepare] when they prepare an
// update and [Guard.Check] when they judge it. What imperative commands wrote is
// remembered beside the objects, see [Memory].
//
// The nil Guard judges nothing. Everything here is safe for concurrent use.
package guard
