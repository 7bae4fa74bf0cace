package parameters

// Install decides about a new instance. Immutable parameters without a value get
// their default stored, so that no later default changes them.
func Install(to *Version, request Request) Decision {
	request.Stored = nil
	d := newDecider(nil, to, request)
	d.twins()
	for i := range to.Definitions {
		definition := &to.Definitions[i]
		before := len(d.Refusals)
		wanted := lookup(d.Wanted, definition.Name)
		if definition.Immutable {
			wanted = wanted.or(definition.pin(definition.preset()))
		}
		d.store(definition, wanted)
		d.row(nil, definition, before)
	}
	d.strangers()
	d.installPlan()
	return d.decide()
}

// pin is what to store for an immutable parameter that was given no value: its
// effective value, which is empty if there is no default and none is required.
func (d *Definition) pin(effective setting) setting {
	if !effective.set && !d.Required {
		return setting{set: true}
	}
	return effective
}
