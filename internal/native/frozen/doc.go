// Package frozen checks the fields of the built-in kinds that cannot change after the object
// was created, such as the selector of a Deployment. They are listed in a table of paths. An
// entry may have an exception that allows some changes.
//
//	errs := frozen.Check(newObj, oldObj)
//
// The check itself is done by package immutability, which also checks the marked fields of
// custom resources. Absent and empty values count as equal. Quantities and times are compared
// by value: both objects have the same Go type, which encodes equal values equally.
//
// Check takes only a map lookup for a kind without frozen fields. Objects are not changed.
// All functions are safe for concurrent use.
package frozen
