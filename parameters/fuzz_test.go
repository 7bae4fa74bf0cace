package parameters_test

import (
	"fmt"
	"maps"
	"testing"

	"holdfast.dev/holdfast/parameters"
	"holdfast.dev/holdfast/value"
)

// tape makes choices from the bytes of a fuzz input.
type tape struct{ bytes []byte }

func (t *tape) next(limit int) int {
	if len(t.bytes) == 0 {
		return 0
	}
	choice := int(t.bytes[0]) % limit
	t.bytes = t.bytes[1:]
	return choice
}

func (t *tape) text() string {
	return []string{"", "a", "b", "[a]", "- a", "{a: b}", "a: b", "1", "01", "true", "null"}[t.next(11)]
}

func (t *tape) version(number int) *parameters.Version {
	v := &parameters.Version{
		Name: fmt.Sprintf("tok-1.0-0.%d.0", number), Operator: "tok", Version: fmt.Sprintf("0.%d.0", number),
		Plans: []string{"deploy", "update", "backup"}[:1+t.next(3)],
	}
	for _, name := range []string{"A", "B", "C"} {
		kind := t.next(16)
		if kind >= 14 {
			continue
		}
		d := parameters.Definition{Name: name, Immutable: kind%2 == 1, Required: kind%4 < 2}
		d.Type = append(parameters.Types(), "")[t.next(7)]
		if kind%8 < 5 {
			text := t.text()
			d.Default = &text
		}
		if kind == 9 {
			d.Enum = []string{"a", "[a]", "1"}
		}
		v.Definitions = append(v.Definitions, d)
	}
	return v
}

func (t *tape) values(from map[string]string) map[string]string {
	wanted := maps.Clone(from)
	if wanted == nil {
		wanted = map[string]string{}
	}
	for _, name := range []string{"A", "B", "C"} {
		switch t.next(4) {
		case 0:
			wanted[name] = t.text()
		case 1:
			delete(wanted, name)
		}
	}
	return wanted
}

// immutables returns the effective values of the immutable parameters.
func immutables(v *parameters.Version, stored map[string]string) map[string]any {
	fixed := map[string]any{}
	effective := v.Effective(stored)
	for _, d := range v.Definitions {
		if d.Immutable {
			fixed[d.Name] = effective[d.Name]
		}
	}
	return fixed
}

// FuzzHistory installs an operator, updates, upgrades and rolls it back. It asserts that no
// accepted request changes the effective value of a parameter while it is immutable.
func FuzzHistory(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add([]byte("immutable parameters hold through install, update and upgrade"))
	f.Add([]byte("\x01\x01\x06\x01\x01\x06\x01\x01\x06\x01\x01\x01\x06\x02\x01\x06" +
		"\x02\x01\x06\x02\x00\x01\x00\x02\x00\x01\x02\x02\x02\x03\x01\x01"))
	f.Fuzz(func(t *testing.T, input []byte) {
		choices := &tape{input}
		versions := []*parameters.Version{choices.version(0), choices.version(1), choices.version(2)}
		current := versions[0]
		installed := parameters.Install(current, parameters.Request{Wanted: choices.values(nil)})
		if !installed.Accepted() {
			return
		}
		stored := installed.Values
		type past struct {
			version *parameters.Version
			values  map[string]string
		}
		var history []past
		for len(choices.bytes) > 0 {
			request := parameters.Request{Stored: stored, Wanted: choices.values(stored)}
			target, decision := current, parameters.Decision{}
			switch choices.next(4) {
			case 0:
				target = versions[choices.next(3)]
				request.Consented = []string{"A", "B", "C"}[:choices.next(4)]
				decision = parameters.Upgrade(current, target, request)
			case 1:
				if len(history) == 0 {
					continue
				}
				target, request.Recorded, request.Wanted = history[len(history)-1].version, history[len(history)-1].values, stored
				decision = parameters.Rollback(current, target, request)
			default:
				decision = parameters.Update(current, request)
			}
			if !decision.Accepted() {
				continue
			}
			before, after := immutables(current, stored), immutables(target, decision.Values)
			for name, old := range before {
				if now, still := after[name]; still && !value.Strict.Equal(old, now) {
					t.Fatalf("%s changed from %#v to %#v while immutable (%s to %s)", name, old, now, current.Name, target.Name)
				}
			}
			sound(t, target, decision)
			switch {
			case target == current:
			case request.Recorded != nil:
				history = history[:len(history)-1]
			default:
				history = append(history, past{current, stored})
			}
			current, stored = target, decision.Values
		}
	})
}

// sound asserts what is true for every accepted decision.
func sound(t *testing.T, v *parameters.Version, decision parameters.Decision) {
	t.Helper()
	for _, d := range v.Definitions {
		if _, stored := decision.Values[d.Name]; d.Immutable && !stored {
			t.Fatalf("immutable %s has no stored value in %v", d.Name, decision.Values)
		}
	}
	again := parameters.Update(v, parameters.Request{Stored: decision.Values, Wanted: decision.Values})
	if !again.Accepted() || again.Plan != "" || !maps.Equal(again.Values, decision.Values) {
		t.Fatalf("the same values again: %v, plan %q, %v", again.Err(), again.Plan, again.Values)
	}
	if len(decision.Rows) < len(v.Definitions) {
		t.Fatalf("%d rows for %d parameters", len(decision.Rows), len(v.Definitions))
	}
}

// FuzzSame asserts for every type that a value is the same as itself, and that "the same"
// is symmetric.
func FuzzSame(f *testing.F) {
	f.Add("[a, b]", "- a\n- b\n")
	f.Add("a: &x [1]\nb: *x", "{a: [1], b: [1.0]}")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, typ := range parameters.Types() {
			v := &parameters.Version{
				Plans:       []string{"deploy"},
				Definitions: []parameters.Definition{{Name: "X", Type: typ, Immutable: true}},
			}
			update := func(from, to string) bool {
				return parameters.Update(v, parameters.Request{Stored: values{"X": from}, Wanted: values{"X": to}}).Accepted()
			}
			if !update(a, a) {
				t.Errorf("%s %q is not itself", typ, a)
			}
			if update(a, b) != update(b, a) {
				t.Errorf("%s %q and %q are the same one way only", typ, a, b)
			}
		}
	})
}
