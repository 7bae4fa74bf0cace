package refusal

import "holdfast.dev/holdfast/immutability"

// Edge answers the questions of rules with a condition, about one update.
type Edge struct {
	// Holds evaluates the condition of a rule for the stored object. The error says why it could not; the rule then holds.
	Holds func(expression string) (bool, error)
	// May reports whether the user of the update has a verb on the object.
	May func(verb string) bool
}

// Decide returns the violations that refuse the update, and those that the right of its user allows. A rule whose condition does not
// hold forbids nothing. Decide asks at most once for each rule, and only for rules that the update breaks.
func (e Edge) Decide(found []Violation) (refused, allowed []Violation) {
	var decided map[*immutability.Mark]verdict
	for _, one := range found {
		if one.Mark == nil || !one.Mark.IsConditional() {
			refused = append(refused, one)
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
			allowed = append(allowed, one)
		default:
			refused = append(refused, one)
		}
	}
	return refused, allowed
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
