// Package immutability says which fields of an object may not change, and finds
// every change that an update makes to them all the same.
//
// A marker stands on a node of a schema and is one of four: [Immutable] (the
// whole subtree stays), [ImmutableKeys] (the keys stay, the values may change),
// [AdditionOnly] (no key goes) and [DeletionOnly] (no key comes). A policy is the
// table of markers of one schema, made once. A violation is one change that a
// marker forbids. An escape is a way to change a marked field in two writes,
// each of which is allowed.
//
//	policy, err := immutability.Compile(s) // nil for a schema without markers
//	violations := policy.Check(oldObj, newObj)
//
// Built-in types have no schema with markers; [Declare] makes a policy from a
// table of paths instead, with exceptions, with values that are compared by
// what they mean, and with absent and empty as one.
//
// [Validate] and [ValidateV1beta1] are the rules for definitions. [Weakened],
// [Divergent], [StatusTraps] and [Escapes] find what is legal and yet surprising;
// each finding is a value and prints as a warning.
//
// Objects are map[string]any as JSON decoding gives them. Check reads only what
// a marker covers, in time linear in its size, lists of type map and set
// included; an object whose marked parts are unchanged costs one comparison of
// them, or of their addresses where old and new share them, and one small
// allocation; a nil policy costs a nil test. Nothing here changes what it is given. Violations and their paths hold references into both objects
// and are valid as long as those stay unchanged. Answers have one fixed order. A
// [Policy] never changes and is safe for concurrent use.
package immutability
