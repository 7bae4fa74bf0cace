package parameters

import (
	"maps"
	"slices"
)

// Rollback decides about going back to an operator version whose values were
// recorded when it was left. It restores those, so that no other can be given; a
// parameter that is immutable in both versions still keeps its value.
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
			d.refuse(name, "parameter '%s' cannot be set in a rollback: it restores the values recorded for operator version %s", name, to.Version)
		}
	}
	if request.Recorded == nil {
		d.refuse("", "no values are recorded for operator version %s: there is nothing to roll back to", to.Name)
	}
	d.sameOperator()
	d.upgradePlan()
	return d.decide()
}

// restore takes the recorded value of one parameter. It is not judged: the
// version ran with it.
func (d *decider) restore(oldDefinition, newDefinition *Definition) {
	name := newDefinition.Name
	recorded := lookup(d.Recorded, name)
	if newDefinition.Immutable {
		recorded = recorded.or(newDefinition.pin(newDefinition.preset()))
	}
	if mutability(oldDefinition, newDefinition) == Immutable {
		current := lookup(d.Stored, name).or(oldDefinition.pin(oldDefinition.preset()))
		if current.set && !seenAlike(oldDefinition.Type, current.text, newDefinition.Type, recorded.text) {
			d.changed(name, current.text, recorded.text)
			return
		}
	}
	if recorded.set {
		d.Values[name] = recorded.text
	}
}
