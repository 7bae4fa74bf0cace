// Package native holds the built-in kinds: which there are, under which names
// they are served, and what is particular to each.
//
// Its words: a Kind is one resource as clients see it in discovery. What holds
// for every kind of a sort lives in the packages below it, each keyed by the
// kind's Go type:
//
//	native/openapi   the published schema, generated
//	native/defaults  values that Kubernetes fills in
//	native/rules     what is refused, with Kubernetes' wording
//	native/frozen    fields that never change once set
//	native/columns   the tables that kubectl prints
//
// Use:
//
//	scheme := native.NewScheme()
//	for _, kind := range native.Kinds() { ... }
//
// Kinds returns a fresh slice of values that share their tables: treat them as
// read-only. Everything here is safe for concurrent use.
package native
