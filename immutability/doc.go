// Package immutability finds the changes of an update that the schema of the
// object forbids.
//
// A marker is a set of constraints on a node of a schema. Four sets have a keyword: [Immutable] (nothing
// in the subtree may change), [ImmutableKeys] (the set of keys may not change,
// the values may), [AdditionOnly] (no key may be removed) and [DeletionOnly] (no
// key may be added). The keyword x-kubernetes-update has any other set. A policy is the compiled markers of one
// schema. A violation is one change that a marker forbids.
//
//	policy, err := immutability.Compile(s) // nil for a schema without markers
//	violations := policy.Check(oldObj, newObj)
//
// A [Mark] is a rule as a line of text. Besides a marker and a path it may have a verb (unless) and a CEL expression (while).
// The violation of such a rule names its mark. The caller decides whether the expression is true for the stored object, and
// whether the user has the verb: this package evaluates neither.
//
// Other versions of a kind may have markers on fields that the version of a write does not have.
// [FindUnseen] finds the values of these fields in the stored object, and [Unseen.Restore] adds
// them to the written one.
//
// The built-in kinds have no schema with markers. [Declare] makes a policy from a
// table of paths instead. Its rules may have exceptions and canonical forms of
// values, and absent and empty are one value.
//
// [Validate] and [ValidateV1beta1] validate the markers of a definition.
// [Weakened], [Divergent] and [StatusTraps] find markers that are valid
// but do not do what their author may expect. Each finding prints as a warning.
//
// Objects are map[string]any as JSON decoding gives them. Check reads only the
// marked parts, in time linear in their size, also in lists of type map and set.
// If the marked parts did not change, it compares them once and allocates once;
// maps and lists that the two objects share are not read. A nil policy costs a
// nil test. Nothing here changes its arguments, except [Mark.AddTo]. Violations and their paths hold
// references into both objects and are valid as long as these do not change.
// Results have one fixed order. A [Policy] never changes and is safe for
// concurrent use.
//
// Other programs may import this package. Its API follows semantic versions: before version 1.0.0 of Holdfast, a minor version
// may change it, and CHANGELOG.md says how.
package immutability
