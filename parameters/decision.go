package parameters

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Request is the state of an instance and the change that a client asks for.
type Request struct {
	// Stored are the values of the instance, empty at installation.
	Stored map[string]string
	// Wanted are all values that the instance has after the write. A missing name
	// means that the client removed the value.
	Wanted map[string]string
	// Consented are the names of the parameters that the client agreed to become
	// immutable, or to be added as immutable, in this upgrade.
	Consented []string
	// Recorded are the values that a rollback restores, nil if there are none.
	Recorded map[string]string
	// Plan is the plan that the client asks for by name, "" for none.
	Plan string
	// Running is the plan that runs now, "" for none.
	Running string
}

// Refusal is one reason why a request is not accepted.
type Refusal struct {
	// Parameter is the name of the parameter, "" if it is about the whole request.
	Parameter string
	Message   string
	// Rule is Message without what the instance stores: values of parameters, its operator
	// version, the running plan. It is for a client that may not read the instance.
	Rule string
	// Conflict means that the same request may be accepted later.
	Conflict bool
	// Immutable means that the request breaks a rule for immutable parameters.
	Immutable bool
}

// Decision is the answer to a request. If it has refusals, nothing is stored.
type Decision struct {
	// Values are the values to store, nil if the request is refused.
	Values map[string]string
	// Plan is the plan to run, "" for none. It is also set if the request is refused.
	// Only a refused update may lack the plan that its changed parameters trigger.
	Plan string
	// Rows has a row for every parameter of either version, those of the new version
	// first, in the order of the package. It is complete even if the request is
	// refused.
	Rows []Row
	// Refusals are in the order of the rows, then those of unknown names, then those of
	// the whole request.
	Refusals []Refusal
}

// Accepted reports whether there are no refusals.
func (d Decision) Accepted() bool { return len(d.Refusals) == 0 }

// Conflict reports whether the only reason for refusal is a running plan.
func (d Decision) Conflict() bool {
	return len(d.Refusals) > 0 && !slices.ContainsFunc(d.Refusals, func(r Refusal) bool { return !r.Conflict })
}

// Err returns the refusals as one error, one line each; nil if there are none.
func (d Decision) Err() error {
	var all []error
	for _, refusal := range d.Refusals {
		all = append(all, errors.New(refusal.Message))
	}
	return errors.Join(all...)
}

// decider makes one decision.
type decider struct {
	Request
	from, to *Version
	Decision
}

func newDecider(from, to *Version, request Request) *decider {
	return &decider{Request: request, from: from, to: to, Decision: Decision{Values: map[string]string{}}}
}

// refuse adds a refusal whose message shows nothing that the instance stores.
func (d *decider) refuse(parameter, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	d.Refusals = append(d.Refusals, Refusal{Parameter: parameter, Message: message, Rule: message})
}

// refuseImmutable is refuse for the rules of immutable parameters.
func (d *decider) refuseImmutable(parameter, format string, args ...any) {
	d.refuse(parameter, format, args...)
	d.Refusals[len(d.Refusals)-1].Immutable = true
}

// add adds a refusal whose message shows what the instance stores.
func (d *decider) add(refusal Refusal) { d.Refusals = append(d.Refusals, refusal) }

// changed refuses to change an immutable parameter.
func (d *decider) changed(name, oldText, newText string) {
	rule := fmt.Sprintf("parameter '%s' is immutable but was changed", name)
	message := fmt.Sprintf("%s from '%s' to '%s'", rule, brief(oldText), brief(newText))
	d.add(Refusal{Parameter: name, Rule: rule, Message: message, Immutable: true})
}

// store stores a value if it is set and valid. It refuses an invalid value, and a missing
// one if the parameter is required and has no default.
func (d *decider) store(definition *Definition, v setting) {
	switch {
	case v.set:
		if message, rule := definition.problem(v.text); message != "" {
			d.add(Refusal{Parameter: definition.Name, Message: message, Rule: rule})
			return
		}
		d.Values[definition.Name] = v.text
	case definition.Required && !definition.defaultSetting().set:
		d.refuse(definition.Name, "%s", definition.missing())
	}
}

// refuseUnknown refuses names that the new version does not have. A stored value of a
// removed parameter that the request does not change is dropped.
func (d *decider) refuseUnknown() {
	unknown := func(name string) {
		d.refuse(name, "parameter '%s' is unknown: operator version %s has no such parameter%s", name, d.to.Name,
			Suggestion(name, d.to.names()))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Wanted)) {
		if d.to.definition(name) == nil && lookup(d.Stored, name) != lookup(d.Wanted, name) {
			unknown(name)
		}
	}
	for _, name := range d.Consented {
		if _, wanted := d.Wanted[name]; d.to.definition(name) == nil && !wanted {
			unknown(name)
		}
	}
}

// refuseDuplicates refuses a version that defines a parameter twice.
func (d *decider) refuseDuplicates() {
	seen := map[string]bool{}
	for _, definition := range d.to.Definitions {
		if seen[definition.Name] {
			d.refuse(definition.Name, "parameter '%s' is defined twice in operator version %s", definition.Name, d.to.Name)
		}
		seen[definition.Name] = true
	}
}

// decide returns the decision. With refusals it has no values.
func (d *decider) decide() Decision {
	if len(d.Refusals) > 0 {
		d.Values = nil
	}
	return d.Decision
}
