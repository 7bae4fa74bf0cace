// Package frozen says which fields of the built-in kinds never change once an
// object exists, by a table of path, marker and at most one named exception.
//
//	errs := frozen.Check(newObj, oldObj)
//
// The rules are package immutability's: the same engine that holds the marked
// fields of custom resources. Absent equals empty here, and quantities and times
// are compared by value, because both sides come from the same Go type, which
// spells each value in one way.
//
// A kind without rules costs a lookup. Objects are read, never changed; all
// functions are safe for concurrent use.
package frozen
