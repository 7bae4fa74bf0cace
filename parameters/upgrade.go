package parameters

import (
	"cmp"
	"fmt"
	"slices"
)

// Upgrade decides about a newer operator version, with or without new values.
func Upgrade(from, to *Version, request Request) Decision {
	d := newDecider(from, to, request)
	d.refuseDuplicates()
	for i := range to.Definitions {
		definition := &to.Definitions[i]
		before := len(d.Refusals)
		oldDefinition := from.definition(definition.Name)
		d.carry(oldDefinition, definition)
		d.row(oldDefinition, definition, before)
	}
	d.removedRows()
	d.refuseUnknown()
	d.requireNewer()
	d.upgradePlan()
	return d.decide()
}

// carry decides about one parameter of the new version.
func (d *decider) carry(oldDefinition, newDefinition *Definition) {
	stored, wanted := lookup(d.Stored, newDefinition.Name), lookup(d.Wanted, newDefinition.Name)
	switch mutability(oldDefinition, newDefinition) {
	case Immutable:
		d.keep(oldDefinition, newDefinition)
	case BecomesImmutable, AddedImmutable:
		d.makeImmutable(oldDefinition, newDefinition)
	case BecomesMutable:
		// If no value is stored and the request sets none, the old effective value is
		// stored now, so that the parameter keeps it. The request may change or remove
		// a stored value.
		if !stored.set {
			wanted = wanted.or(oldDefinition.pinned(oldDefinition.defaultSetting()))
		}
		d.store(newDefinition, wanted)
	default:
		d.store(newDefinition, wanted)
	}
}

// makeImmutable stores the value of a parameter that is immutable from now on. The client
// must choose the value in this upgrade: by consent, or by a value other than the
// stored one.
func (d *decider) makeImmutable(oldDefinition, newDefinition *Definition) {
	name := newDefinition.Name
	stored, wanted := lookup(d.Stored, name), lookup(d.Wanted, name)
	given := slices.Contains(d.Consented, name) || wanted.set && wanted != stored
	if !wanted.set && given {
		// Consent without a value accepts the old default if that is in effect now,
		// and otherwise the new default.
		if oldDefinition != nil && !stored.set {
			wanted = oldDefinition.defaultSetting()
		}
		wanted = wanted.or(newDefinition.defaultSetting())
	}
	if given && wanted.set {
		d.store(newDefinition, wanted)
		return
	}
	switch defaulted := newDefinition.defaultSetting(); {
	case oldDefinition != nil:
		d.refuseImmutable(name, "parameter '%s' was changed to immutable in operator version %s but no value was provided", name, d.to.Version)
	case defaulted.set:
		d.refuseImmutable(name, "parameter '%s' was added in operator version %s, but no value was provided (default would be %s)",
			name, d.to.Version, cmp.Or(brief(defaulted.text), `""`))
	default:
		d.refuseImmutable(name, "parameter '%s' was added in operator version %s, but no value was provided", name, d.to.Version)
	}
}

// removedRows adds the rows of the parameters that the new version does not have.
func (d *decider) removedRows() {
	for i := range d.from.Definitions {
		definition := &d.from.Definitions[i]
		if d.to.definition(definition.Name) == nil {
			d.row(definition, nil, len(d.Refusals))
		}
	}
}

// requireSameOperator refuses a version of another operator.
func (d *decider) requireSameOperator() bool {
	if d.from.Operator == d.to.Operator {
		return true
	}
	is := fmt.Sprintf("operator version %s is of operator '%s', the instance is of ", d.to.Name, d.to.Operator)
	d.add(Refusal{Message: is + "'" + d.from.Operator + "'", Rule: is + "another"})
	return false
}

// requireNewer refuses a version that is not newer.
func (d *decider) requireNewer() {
	if !d.requireSameOperator() {
		return
	}
	switch order, err := Compare(d.to.Version, d.from.Version); {
	case err != nil:
		d.refuse("", "operator version %s: %s", d.to.Name, err)
	case order < 0:
		d.add(Refusal{
			Message: fmt.Sprintf("operator version %s is lower than %s: an upgrade goes to a higher one (version %s after %s)",
				d.to.Name, d.from.Name, d.to.Version, d.from.Version),
			Rule: fmt.Sprintf("operator version %s is lower than the installed one: an upgrade goes to a higher one", d.to.Name),
		})
	case order == 0:
		d.add(Refusal{
			Message: fmt.Sprintf("operator version %s is not higher than %s: both are version %s", d.to.Name, d.from.Name, d.to.Version),
			Rule:    fmt.Sprintf("operator version %s is not higher than the installed one", d.to.Name),
		})
	}
}
