// Package managers records which manager owns which field of an object of a built-in kind.
//
//	recorder, err := managers.New(managers.Config{Types: types, Kind: kind, Sets: sets})
//	obj = recorder.Update(stored, obj, manager)
//	obj, err = recorder.Apply(stored, configuration, manager, force)
//	manager := managers.NameOf(options.FieldManager, req.UserAgent())
//
// The package is part of the wing of speed. The plain form is the field manager of the library. For each write it decodes the set of fields of each
// manager, compares both objects with their managed fields, which it decodes once more for that, and encodes all sets again.
//
// Most updates and patches only replace values of fields that their manager owns alone: the same set comes out. For these, a Recorder
// compares the objects without their managed fields, with the comparison of the library, and looks into sets that it has decoded before. Only the time of the
// manager changes. All other writes go to the library.
//
// What must hold: both forms have the same result but for the time of a write. A Recorder takes managed fields only if the library would
// write the same ones again: see Sets. No code changes a kept set in place. FuzzUpdate compares both forms, and TestAudit shows that an audit finds a wrong set (package
// cacheaudit).
package managers
