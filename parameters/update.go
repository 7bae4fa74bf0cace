package parameters

// Update decides about other values within one operator version.
func Update(version *Version, request Request) Decision {
	d := newDecider(version, version, request)
	for i := range version.Definitions {
		definition := &version.Definitions[i]
		before := len(d.Refusals)
		if definition.Immutable {
			d.hold(definition, definition)
		} else {
			d.change(definition)
		}
		d.row(definition, definition, before)
	}
	d.strangers()
	d.updatePlan()
	return d.decide()
}

// hold keeps a parameter that is immutable before and after.
func (d *decider) hold(oldDefinition, newDefinition *Definition) {
	name := newDefinition.Name
	stored, wanted := lookup(d.Stored, name), lookup(d.Wanted, name)
	effective := stored.or(oldDefinition.pin(oldDefinition.preset()))
	switch {
	case stored.set && !wanted.set:
		d.refuse(name, "parameter '%s' is immutable but was removed (value '%s')", name, brief(stored.text))
		return
	case !effective.set:
		// It never had a value, though it needs one: this is the first.
		d.firstValue(newDefinition, wanted)
		return
	case wanted.set && !oldDefinition.Type.same(effective.text, wanted.text):
		d.changed(name, effective.text, wanted.text)
		return
	}
	kept := wanted.or(effective)
	if !seenAlike(oldDefinition.Type, effective.text, newDefinition.Type, kept.text) {
		d.refuse(name, "parameter '%s' is immutable but its type was changed from '%s' to '%s'",
			name, oldDefinition.Type.orString(), newDefinition.Type.orString())
		return
	}
	if oldDefinition == newDefinition {
		d.Values[name] = kept.text
		return
	}
	d.store(newDefinition, kept)
}

// firstValue stores a value where a required one was always missing. Within one
// version its absence is no news.
func (d *decider) firstValue(definition *Definition, wanted setting) {
	if wanted.set || d.from != d.to {
		d.store(definition, wanted)
	}
}

// change takes the value of a mutable parameter.
func (d *decider) change(definition *Definition) {
	stored, wanted := lookup(d.Stored, definition.Name), lookup(d.Wanted, definition.Name)
	if stored == wanted {
		if wanted.set {
			d.Values[definition.Name] = wanted.text
		}
		return
	}
	d.store(definition, wanted)
}
