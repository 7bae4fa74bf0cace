package parameters

import (
	"maps"
	"slices"
)

// Rollback decides about going back to an earlier operator version. It restores the
// values that were recorded when the instance left that version; the request cannot set
// others. A parameter that is immutable in both versions keeps its value.
func Rollback(from, to *Version, request Request) Decision {
	d := newDecider(from, to, request)
	for i := range to.Definitions {
		definition := &to.Definitions[i]
		before := len(d.Refusals)
		oldDefinition := from.definition(definition.Name)
		d.restore(oldDefinition, definition)
		d.row(oldDefinition, definition, before)
	}
	d.removedRows()
	for _, name := range slices.Sorted(maps.Keys(d.Wanted)) {
		wanted := lookup(d.Wanted, name)
		if wanted != lookup(d.Stored, name) && wanted != lookup(d.Recorded, name) {
			d.refuse(name, "parameter '%s' cannot be set in a rollback: it restores the values recorded for operator version %s",
				name, to.Version)
		}
	}
	if request.Recorded == nil {
		d.refuse("", "no values are recorded for operator version %s: there is nothing to roll back to", to.Name)
	}
	d.requireSameOperator()
	d.upgradePlan()
	return d.decide()
}

// restore restores the recorded value of one parameter. The value is not validated,
// because the version was in use with it.
func (d *decider) restore(oldDefinition, newDefinition *Definition) {
	name := newDefinition.Name
	recorded := lookup(d.Recorded, name)
	if newDefinition.Immutable {
		recorded = recorded.or(newDefinition.pinned(newDefinition.defaultSetting()))
	}
	if mutability(oldDefinition, newDefinition) == Immutable {
		current := lookup(d.Stored, name).or(oldDefinition.pinned(oldDefinition.defaultSetting()))
		if current.set && !sameSeen(oldDefinition.Type, current.text, newDefinition.Type, recorded.text) {
			d.changed(name, current.text, recorded.text)
			return
		}
	}
	if recorded.set {
		d.Values[name] = recorded.text
	}
}
