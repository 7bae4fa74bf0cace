// Package scaled says who manages the replicas of an object to those who see only
// its scale, and back.
//
//	managers := scaled.Managers{Entries: live, Version: version, Paths: paths}
//	scale.ManagedFields, err = managers.OfScale()
//	object.ManagedFields, err = managers.OfObject(scale.ManagedFields)
//
// The library translates the fields; it loses when the scale was written, and cuts
// an entry in two where somebody else writes the same count again. Both are put
// right here. Nothing that is given is changed.
package scaled
