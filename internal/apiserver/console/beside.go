package console

import (
	"strings"

	"holdfast.dev/holdfast/immutability"
)

// addRules adds to each field the rules in words that are about it: those of the field itself, and those of a field above it that refuse
// every change.
func (r *Report) addRules() {
	for i := range r.Fields {
		r.Fields[i].Rules = r.rulesOf(r.Fields[i].Field)
	}
}

func (r *Report) rulesOf(name string) []string {
	var rules []string
	free := ""
	for _, lock := range r.Locks {
		// A place that may change although one above it may not.
		if lock.Free && isAtOrAbove(lock.Field, name) && len(lock.Field) > len(free) {
			free = lock.Field
		}
	}
	for _, lock := range r.Locks {
		switch {
		case lock.Free || lock.Absent || !isAtOrAbove(lock.Field, name) || len(lock.Field) < len(free):
		case lock.Field == name:
			rules = append(rules, lock.words(lock.Rule))
		case lock.Rule == ruleOf(immutability.Immutable):
			rules = append(rules, lock.words("every change is refused, as of "+lock.Field))
		}
	}
	return rules
}

// words returns a rule with its reason and its condition.
func (l *Lock) words(rule string) string {
	text := rule + ": " + l.Why
	if l.While != "" && l.Open {
		text += ". The condition is false now, so the rule does not hold"
	}
	if l.Warns {
		text += ". The server only warns"
	}
	return text
}

// isAtOrAbove reports whether a field is another one, or above it.
func isAtOrAbove(above, name string) bool {
	rest, found := strings.CutPrefix(name, above)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
