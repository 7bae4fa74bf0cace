// Package object is the representation of a custom resource in memory.
//
//	obj := object.Of(content)
//	copied := obj.Copy()
//
// The package is part of the wing of speed. In the quick form, copies of an object share its values, and the managed fields are
// converted without reflection: the libraries copy an object and ask for its managed fields several times in each write. In the
// plain form, which the build tag plain chooses, an object is an Unstructured. An update of an object with 195 fields then allocates
// 1,256 KB, and 556 KB in the quick form (BenchmarkFleet in package custom).
//
// What must hold: a value that copies share never changes in place. Only the maps of the object and of its metadata belong to the
// holder of an object. A build with the tag frozen, or with the race detector, checks this: it stops with a panic if a shared value was
// changed, see Freeze. TestManagedFieldsOfUnstructured and TestObjectsAreUnstructured compare an Object with an Unstructured, and
// TestFormsAgree does on random objects. It fails if too few take the quick way.
package object
