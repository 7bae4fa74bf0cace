package parameters

import "slices"

// Upgrade decides about another operator version, with or without other values.
func Upgrade(from, to *Version, request Request) Decision {
	d := newDecider(from, to, request)
	d.twins()
	for i := range to.Definitions {
		definition := &to.Definitions[i]
		before := len(d.Refusals)
		oldDefinition := from.definition(definition.Name)
		d.carry(oldDefinition, definition)
		d.row(oldDefinition, definition, before)
	}
	d.removedRows()
	d.strangers()
	d.newer()
	d.upgradePlan()
	return d.decide()
}

// carry takes one parameter into the new version.
func (d *decider) carry(oldDefinition, newDefinition *Definition) {
	stored, wanted := lookup(d.Stored, newDefinition.Name), lookup(d.Wanted, newDefinition.Name)
	switch mutability(oldDefinition, newDefinition) {
	case Immutable:
		d.hold(oldDefinition, newDefinition)
	case BecomesImmutable, AddedImmutable:
		d.fix(oldDefinition, newDefinition)
	case BecomesMutable:
		// It keeps its value, even one that was never stored; removing a stored
		// one is a change like any other.
		if !stored.set {
			wanted = wanted.or(oldDefinition.pin(oldDefinition.preset()))
		}
		d.store(newDefinition, wanted)
	default:
		d.store(newDefinition, wanted)
	}
}

// fix gives a parameter the value it will keep. That takes a value given in this
// upgrade: a name that was consented to, or a value that is not the stored one.
func (d *decider) fix(oldDefinition, newDefinition *Definition) {
	name := newDefinition.Name
	stored, wanted := lookup(d.Stored, name), lookup(d.Wanted, name)
	given := slices.Contains(d.Consented, name) || wanted.set && wanted != stored
	if !wanted.set && given {
		// Consent without a value takes the current one, or the default.
		if oldDefinition != nil && !stored.set {
			wanted = oldDefinition.preset()
		}
		wanted = wanted.or(newDefinition.preset())
	}
	if given && wanted.set {
		d.store(newDefinition, wanted)
		return
	}
	switch preset := newDefinition.preset(); {
	case oldDefinition != nil:
		d.refuse(name, "parameter '%s' was changed to immutable in operator version %s but no value was provided", name, d.to.Version)
	case preset.set:
		d.refuse(name, "parameter '%s' was added in operator version %s, but no value was provided (default would be %s)",
			name, d.to.Version, brief(preset.text))
	default:
		d.refuse(name, "parameter '%s' was added in operator version %s, but no value was provided", name, d.to.Version)
	}
}

// removedRows tells about the parameters that the new version does not have.
func (d *decider) removedRows() {
	for i := range d.from.Definitions {
		definition := &d.from.Definitions[i]
		if d.to.definition(definition.Name) == nil {
			d.row(definition, nil, len(d.Refusals))
		}
	}
}

// sameOperator refuses a version of another operator.
func (d *decider) sameOperator() bool {
	if d.from.Operator == d.to.Operator {
		return true
	}
	d.refuse("", "operator version %s is of operator '%s', the instance is of '%s'", d.to.Name, d.to.Operator, d.from.Operator)
	return false
}

// newer refuses a version that is not an upgrade.
func (d *decider) newer() {
	if !d.sameOperator() {
		return
	}
	switch order, err := Compare(d.to.Version, d.from.Version); {
	case err != nil:
		d.refuse("", "operator version %s: %s", d.to.Name, err)
	case order < 0:
		d.refuse("", "operator version %s is lower than %s: an upgrade goes to a higher one (version %s after %s)",
			d.to.Name, d.from.Name, d.to.Version, d.from.Version)
	case order == 0:
		d.refuse("", "operator version %s is not higher than %s: both are version %s", d.to.Name, d.from.Name, d.to.Version)
	}
}
