// Package fields records which manager owns which field of a custom resource.
//
//	recorder, err := fields.New(fields.Endpoint{Version: version, Subresource: "status"})
//	obj = recorder.Create(obj, manager)
//	obj = recorder.Update(stored, updated, manager)
//	obj, err = recorder.Apply(stored, fields.Configuration{Content: content, Manager: manager})
//
// The package is part of the wing of speed. Library is the plain form: it calls the field manager of Kubernetes, which converts both
// objects to typed values, computes their sets of fields and compares these. It leaves out stored values that do not fit the schema, and
// keeps values out of errors and logs. Quick is the quick form. It knows two cases, and calls the library in all others:
//
//   - A creation. Most objects of a kind have the fields of the object that was created before, so that Quick only compares the object
//     with that set, which needs no memory.
//   - An update or an apply that only replaces values of fields that its manager owns alone. It changes no set of fields. Quick walks
//     once through the stored object, the written object and the set of the manager. The result shares all other values with the stored
//     object.
//
// For all other updates of a kind with one version, Quick gives the library only the parts of the objects that differ.
//
// Figures for one request with an object of 195 fields, without and with Quick: an apply allocates 3.03 and 1.07 MB
// (docs/decisions/0093-apply-merges-values.md). A creation allocates 747 and 485 KB, and an update 1,054 and 562 KB
// (docs/decisions/0099-writes-that-only-replace-values.md). To compare only the parts that differ saves 3,200 of 19,400 allocations of
// an update (docs/decisions/0060-a-field-manager-for-each-write.md).
//
// What must hold: the results of both forms are equal except for the time of a write. Quick takes a value or a set only if it is of the
// form that the library writes: the stored object is known to fit its schema, all managers wrote this version, and the library would
// leave their sets as they are. Sets are shared, so no code changes one in place.
//
// FuzzCreatedFields, FuzzUpdateValues, FuzzApplyValues and FuzzDiffering compare both forms on random schemas, objects, managers and
// subresources. Each fails if too few writes take the quick way.
package fields
