package parameters

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Request is what an instance has and what is asked of it.
type Request struct {
	// Stored are the values the instance has, empty at installation.
	Stored map[string]string
	// Wanted are all the values the instance shall have, as the write says it:
	// a name that is missing is one that was removed.
	Wanted map[string]string
	// Consented are the names of parameters whose becoming immutable, or being
	// added immutable, was accepted for exactly this upgrade.
	Consented []string
	// Recorded are the values that a rollback restores, nil if there are none.
	Recorded map[string]string
	// Plan is one asked for by name, "" for none.
	Plan string
	// Running is the plan that runs now, "" for none.
	Running string
}

// Refusal is one reason why a request is not accepted.
type Refusal struct {
	// Parameter it is about, "" for none in particular.
	Parameter string
	Message   string
	// Conflict means that the request may be accepted later, as it stands.
	Conflict bool
}

// Decision is what becomes of a request. With refusals, nothing does.
type Decision struct {
	// Values to store, nil if refused.
	Values map[string]string
	// Plan that runs, or would if there were no refusals; "" for none.
	Plan string
	// Rows tell about every parameter of either version, those of the new one
	// first, in the order of the package. Rows are complete even if refused.
	Rows []Row
	// Refusals in the order of the rows, then those about names that neither
	// version knows, then those about the request as a whole.
	Refusals []Refusal
}

// Accepted says that there is nothing against it.
func (d Decision) Accepted() bool { return len(d.Refusals) == 0 }

// Conflict says that only time is against it: a plan runs.
func (d Decision) Conflict() bool {
	return len(d.Refusals) > 0 && !slices.ContainsFunc(d.Refusals, func(r Refusal) bool { return !r.Conflict })
}

// Err joins the refusals, one line each; nil if there are none.
func (d Decision) Err() error {
	var all []error
	for _, refusal := range d.Refusals {
		all = append(all, errors.New(refusal.Message))
	}
	return errors.Join(all...)
}

// decider collects a decision.
type decider struct {
	Request
	from, to *Version
	Decision
}

func newDecider(from, to *Version, request Request) *decider {
	return &decider{Request: request, from: from, to: to, Decision: Decision{Values: map[string]string{}}}
}

func (d *decider) refuse(parameter, format string, args ...any) {
	d.Refusals = append(d.Refusals, Refusal{Parameter: parameter, Message: fmt.Sprintf(format, args...)})
}

func (d *decider) changed(name, oldText, newText string) {
	d.refuse(name, "parameter '%s' is immutable but was changed from '%s' to '%s'", name, brief(oldText), brief(newText))
}

// store keeps a value, if there is one and it is good.
func (d *decider) store(definition *Definition, v setting) {
	switch {
	case v.set:
		if problem := definition.Problem(v.text); problem != "" {
			d.refuse(definition.Name, "%s", problem)
			return
		}
		d.Values[definition.Name] = v.text
	case definition.Required && definition.Default == nil:
		d.refuse(definition.Name, "%s", definition.missing())
	}
}

// strangers refuses names that the new version does not know. One that was
// stored all along, of a parameter that is gone, goes without a word.
func (d *decider) strangers() {
	unknown := func(name string) {
		d.refuse(name, "parameter '%s' is unknown: operator version %s has no such parameter", name, d.to.Name)
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

// twins refuses a version that defines a parameter twice, of which only one
// could be obeyed.
func (d *decider) twins() {
	seen := map[string]bool{}
	for _, definition := range d.to.Definitions {
		if seen[definition.Name] {
			d.refuse(definition.Name, "parameter '%s' is defined twice in operator version %s", definition.Name, d.to.Name)
		}
		seen[definition.Name] = true
	}
}

// decide ends the decision: with refusals there is nothing to store.
func (d *decider) decide() Decision {
	if len(d.Refusals) > 0 {
		d.Values = nil
	}
	return d.Decision
}
