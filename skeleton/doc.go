// Package skeleton knows the shape of a schema: it derives it, shows it, prunes
// objects to it, and checks the basic types of what it has specified.
//
// The skeleton of a schema is what is left when value validation is dropped and
// allOf, anyOf, oneOf and not are folded into the node they stand on. A key is
// specified when the skeleton has a place for it; pruning drops all others. A
// type binds when every value that the full schema accepts has it: it is named
// on the node itself, through allOf, or by every branch of an anyOf or oneOf.
// The check enforces types that bind and no others, so what the full schema
// accepts the check accepts.
//
//	sk := skeleton.Build(s) // once per version of a definition
//	sk.Prune(obj)           // for every object, in place
//
// Rules says which schemas a definition may carry. Check, Prune, Default and
// Normalize are the steps of one write, in that order; each does one thing.
//
// Build is linear in the size of the schema, and a skeleton is never larger
// than its schema. Prune visits each value once, changes the object in place
// and allocates nothing when nothing is dropped. Check only reads, and
// allocates nothing when nothing is wrong. Depth costs stack, which Go grows as
// needed; no input makes a step fail.
//
// A Skeleton shares default values with the schema it was built from, and
// objects get copies of them. It never changes after Build: any number of
// goroutines may use one, each on an object of its own.
package skeleton
