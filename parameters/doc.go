// Package parameters decides about the parameters of an operator when an instance is
// installed, updated, upgraded or rolled back. The decision has the values to store and
// the plan to run, or all reasons to refuse the request.
//
//	decision := parameters.Upgrade(from, to, parameters.Request{Stored: stored, Wanted: wanted, Consented: names})
//	if err := decision.Err(); err != nil { ... }
//
// A Definition describes a parameter. A Version has the definitions of one operator
// version. Stored are the values that an instance has, Wanted are the values that the
// request sets. The effective value of a parameter, which templates see, is its value
// or else its default.
//
// Values are strings, as KUDO stores them. Two values are the same if templates see the
// same. Templates see strings, integers, numbers and booleans as the text that was given
// ("3" and "03" differ), and arrays and maps as the content of their YAML ("[a, b]" and
// "- a\n- b" are the same).
//
// A value that an update does not change is not validated again, so that an instance
// stored under earlier rules can still be changed. The functions do not change their
// arguments, return new values, and are safe for concurrent use.
//
// Other programs may import this package. Its API follows semantic versions: before version 1.0.0 of Holdfast, a minor version
// may change it, and CHANGELOG.md says how.
package parameters
