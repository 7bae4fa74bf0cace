// Package replace serves replacements: PUT OBJECT?holdfast=replace stores a new object in place of another one of the same name, in one
// write. Package replacement has the rules.
//
// Filter turns the request into a create with a Swap in its context, after it has checked the rights and the rules. From there on the
// request takes the path of a create: admission, validation and the registry of the kind. Admission first asks the plugins whether the old
// object may be deleted. The storage then compares the revision of the old object in the transaction that writes the new one.
package replace
