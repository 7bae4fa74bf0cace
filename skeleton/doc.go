// Package skeleton derives the structure of a schema, prunes objects by it, and
// checks the basic types of their values.
//
// The skeleton of a schema is the schema without value validation, with the parts of
// allOf, anyOf, oneOf and not merged into the node that has them. A key is specified
// if the skeleton has a node for it; pruning drops all other keys. A type binds if
// every value that the full schema accepts has it: the node itself names it, or
// allOf does, or every branch of an anyOf or oneOf. Check enforces only types that
// bind, so it accepts every value that the full schema accepts.
//
//	sk := skeleton.Build(s) // once per version of a definition
//	sk.Prune(obj)           // for every object, in place
//
// Rules validates the schemas of definitions. Check, Prune, Default and Normalize are
// the steps of one write, in that order.
//
// Build is linear in the size of the schema, and a skeleton is never larger than its
// schema. Prune visits each value once, changes the object in place and allocates
// nothing if it drops nothing. Check only reads, and allocates nothing if all types
// are right. Deep objects need stack, which Go grows; no input makes a step fail.
//
// A Skeleton shares default values with the schema it was built from. Objects get
// copies of them. A Skeleton never changes after Build, so many goroutines may use it
// at once, each on its own object.
//
// Other programs may import this package. Its API follows semantic versions: before version 1.0.0 of Holdfast, a minor version
// may change it, and CHANGELOG.md says how.
package skeleton
