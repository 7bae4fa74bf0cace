// Package fieldset keeps one copy of each set of fields in managedFields, with its text.
//
//	sets, format := fieldset.New()
//	sets.Share(obj)            // equal sets of all objects are one map
//	text := sets.TextOf(set)   // without encoding it
//
// The package is part of the wing of speed. The objects that one program creates have equal sets, and most writes change no set. A set is
// most of the metadata of most objects. Without the package the server decodes and encodes each set several times in one
// write: an update of an object with 195 fields allocates 714 KB, and 556 KB with it (BenchmarkFleet in package custom). A nil *Sets is the plain form: it keeps nothing, and New returns it in a build with the tag plain.
//
// What must hold: no code changes a set or a text from this package in place. TestWrongSet corrupts the sets and shows which texts are
// wrong then, and TestAudit that an audit finds them (package cacheaudit). TestFormsAgree compares both forms on random objects and fails if too few sets come from the cache. The tests of package
// object compare objects with and without sets.
package fieldset
