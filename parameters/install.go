package parameters

// Install decides about a new instance. For an immutable parameter without a value the
// default is stored, so that a later default does not change it.
func Install(to *Version, request Request) Decision {
	request.Stored = nil
	d := newDecider(nil, to, request)
	d.refuseDuplicates()
	for i := range to.Definitions {
		definition := &to.Definitions[i]
		before := len(d.Refusals)
		wanted := lookup(d.Wanted, definition.Name)
		if definition.Immutable {
			wanted = wanted.or(definition.pinned(definition.defaultSetting()))
		}
		d.store(definition, wanted)
		d.row(nil, definition, before)
	}
	d.refuseUnknown()
	d.installPlan()
	return d.decide()
}

// pinned returns the value to store for an immutable parameter without a value: its
// effective value. An optional parameter without a default gets the empty string.
func (d *Definition) pinned(effective setting) setting {
	if !effective.set && !d.Required {
		return setting{set: true}
	}
	return effective
}
