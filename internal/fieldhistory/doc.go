// Package fieldhistory compares two states of an object and takes an object back from the later state to the earlier one.
//
//	changes := fieldhistory.Diff(before, after, fieldhistory.Options{Lists: t.Lists(), Limit: 8 << 10})
//	before, err := fieldhistory.Revert(after, fieldhistory.Entry{Changes: changes})
//
// Its words: the history of an object is a list of entries. An [Entry] is one write, with the changes of fields that it made. The
// content of an object is the part that history has: everything except kind, apiVersion, status, and the managed fields,
// resourceVersion and generation in the metadata, see [Content]. A value that history does not keep, because it is large or secret, is
// replaced by a [Hash].
//
// Diff is exactly invertible: Revert returns the earlier content, with a Hash in the place of a value that was not kept. The changes of
// an entry apply one after the other; Revert undoes the last one first.
//
// No function changes its arguments. The results share values with them, so they must not be changed in place.
package fieldhistory
