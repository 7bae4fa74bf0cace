package refusal

import "holdfast.dev/holdfast/immutability"

// Edge answers the questions of rules with a condition, about one update.
type Edge struct {
	// Holds evaluates the condition of a rule for the stored object. The error says why it could not; the rule then holds.
	Holds func(expression string) (bool, error)
	// May reports whether the user of the update has a verb on the object.
	May func(verb string) bool
}

// Decision is what becomes of the violations of an update.
type Decision struct {
	// Refused are the violations that refuse the update. Allowed are those that the right of its user allows.
	Refused, Allowed []Violation
}

// IsEmpty reports whether the update breaks no rule that holds.
func (d Decision) IsEmpty() bool { return len(d.Refused)+len(d.Allowed) == 0 }

// Merge adds the violations of another decision that d does not have.
func (d *Decision) Merge(more Decision) {
	d.Refused, d.Allowed = Merge(d.Refused, more.Refused), Merge(d.Allowed, more.Allowed)
}

// Decide decides about violations. A rule whose condition does not hold forbids nothing. Decide asks at most once for each rule, and
// only for rules that the update breaks.
func (e Edge) Decide(found []Violation) Decision {
	var out Decision
	var decided map[*immutability.Mark]verdict
	for _, one := range found {
		if one.Mark == nil || !one.Mark.IsConditional() {
			out.Refused = append(out.Refused, one)
			continue
		}
		v, known := decided[one.Mark]
		if !known {
			v = e.decide(one.Mark)
			if decided == nil {
				decided = map[*immutability.Mark]verdict{}
			}
			decided[one.Mark] = v
		}
		switch one.Unclear = v.unclear; {
		case !v.holds:
		case v.allowed:
			out.Allowed = append(out.Allowed, one)
		default:
			out.Refused = append(out.Refused, one)
		}
	}
	return out
}

// verdict is the decision about one rule.
type verdict struct {
	holds, allowed bool
	unclear        error
}

func (e Edge) decide(m *immutability.Mark) verdict {
	v := verdict{holds: true}
	if m.While != "" {
		v.holds, v.unclear = e.Holds(m.While)
		v.holds = v.holds || v.unclear != nil
	}
	v.allowed = v.holds && m.Unless != "" && e.May(m.Unless)
	return v
}
