package parameters

// Locked returns the names of the parameters that no update within the version may change, in the
// order of the package. stored are the values of the instance. A parameter without a stored value
// is locked to its default. An immutable parameter that must have a value, and has none yet, is
// not locked: an update sets its first value.
func (v *Version) Locked(stored map[string]string) []string {
	var names []string
	for i := range v.Definitions {
		definition := &v.Definitions[i]
		if definition.Immutable && definition.fixed(lookup(stored, definition.Name)).set {
			names = append(names, definition.Name)
		}
	}
	return names
}

// fixed returns the value that an immutable parameter keeps, not set if it has none yet.
func (d *Definition) fixed(stored setting) setting {
	return stored.or(d.pinned(d.defaultSetting()))
}
