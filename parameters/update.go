package parameters

import "fmt"

// Update decides about new values within one operator version.
func Update(version *Version, request Request) Decision {
	d := newDecider(version, version, request)
	for i := range version.Definitions {
		definition := &version.Definitions[i]
		before := len(d.Refusals)
		if definition.Immutable {
			d.keep(definition, definition)
		} else {
			d.change(definition)
		}
		d.row(definition, definition, before)
	}
	d.refuseUnknown()
	d.updatePlan()
	return d.decide()
}

// keep keeps the value of a parameter that is immutable before and after.
func (d *decider) keep(oldDefinition, newDefinition *Definition) {
	name := newDefinition.Name
	stored, wanted := lookup(d.Stored, name), lookup(d.Wanted, name)
	effective := oldDefinition.fixed(stored)
	switch {
	case stored.set && !wanted.set:
		rule := fmt.Sprintf("parameter '%s' is immutable but was removed", name)
		message := fmt.Sprintf("%s (value '%s')", rule, brief(stored.text))
		d.add(Refusal{Parameter: name, Rule: rule, Message: message, Immutable: true})
		return
	case !effective.set:
		// A required parameter without a value: the request sets its first value.
		d.firstValue(newDefinition, wanted)
		return
	case wanted.set && !oldDefinition.Type.same(effective.text, wanted.text):
		d.changed(name, effective.text, wanted.text)
		return
	}
	kept := wanted.or(effective)
	if !sameSeen(oldDefinition.Type, effective.text, newDefinition.Type, kept.text) {
		d.refuseImmutable(name, "parameter '%s' is immutable but its type was changed from '%s' to '%s'",
			name, oldDefinition.Type.orDefault(), newDefinition.Type.orDefault())
		return
	}
	if oldDefinition == newDefinition {
		d.Values[name] = kept.text
		return
	}
	d.store(newDefinition, kept)
}

// firstValue stores the first value of a required parameter that never had one. An update
// within one version is not refused if the value is still missing.
func (d *decider) firstValue(definition *Definition, wanted setting) {
	if wanted.set || d.from != d.to {
		d.store(definition, wanted)
	}
}

// change stores the value of a mutable parameter.
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
