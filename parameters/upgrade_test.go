package parameters_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/parameters"
)

func TestUpgrade(t *testing.T) {
	const all = `plans: [deploy, update, upgrade]`
	tests := map[string]struct {
		from, to string
		request  parameters.Request
		want     answer
	}{
		"immutable in both, unchanged": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: b, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "a"}, Wanted: values{"X": "a"}},
			want:    answer{Values: values{"X": "a"}, Plan: "upgrade"},
		},
		"immutable in both, never stored": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: b, immutable: true}`,
			want: answer{Values: values{"X": "a"}, Plan: "upgrade"},
		},
		"KUDO's hole: immutable in both, changed in the upgrade": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: b, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "a"}, Wanted: values{"X": "b"}, Consented: []string{"X"}},
			want:    answer{Refused: []string{"parameter 'X' is immutable but was changed from 'a' to 'b'"}},
		},
		"immutable in both, removed in the upgrade": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: a, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "a"}, Consented: []string{"X"}},
			want:    answer{Refused: []string{"parameter 'X' is immutable but was removed (value 'a')"}},
		},
		"immutable in both, another type": {
			from: `{name: X, default: "[a]", immutable: true}`, to: `{name: X, type: array, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "[a]"}, Wanted: values{"X": "[a]"}},
			want:    answer{Refused: []string{"parameter 'X' is immutable but its type was changed from 'string' to 'array'"}},
		},
		"immutable in both, no longer allowed": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: b, enum: [b, c], immutable: true}`,
			request: parameters.Request{Stored: values{"X": "a"}, Wanted: values{"X": "a"}},
			want:    answer{Refused: []string{"parameter 'X' has the value 'a', allowed are 'b', 'c'"}},
		},
		"becomes immutable, not given": {
			from: `{name: X, default: a}`, to: `{name: X, default: a, immutable: true}`,
			want: answer{Refused: []string{"parameter 'X' was changed to immutable in operator version 0.2.0 but no value was provided"}},
		},
		"KUDO's hole: becomes immutable, set before": {
			from: `{name: X, default: a}`, to: `{name: X, default: a, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "b"}, Wanted: values{"X": "b"}},
			want: answer{
				Refused: []string{"parameter 'X' was changed to immutable in operator version 0.2.0 but no value was provided"},
			},
		},
		"becomes immutable, set before and consented to": {
			from: `{name: X, default: a}`, to: `{name: X, default: a, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "b"}, Wanted: values{"X": "b"}, Consented: []string{"X"}},
			want:    answer{Values: values{"X": "b"}, Plan: "upgrade"},
		},
		"becomes immutable, another value in the same request": {
			from: `{name: X, default: a}`, to: `{name: X, default: a, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "b"}, Wanted: values{"X": "c"}},
			want:    answer{Values: values{"X": "c"}, Plan: "upgrade"},
		},
		"becomes immutable, consented to without a value: the current one": {
			from: `{name: X, default: a}`, to: `{name: X, default: b, immutable: true}`,
			request: parameters.Request{Consented: []string{"X"}},
			want:    answer{Values: values{"X": "a"}, Plan: "upgrade"},
		},
		"becomes immutable, consented to while the value is removed: the default": {
			from: `{name: X, default: a}`, to: `{name: X, default: b, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "c"}, Consented: []string{"X"}},
			want:    answer{Values: values{"X": "b"}, Plan: "upgrade"},
		},
		"becomes immutable, consented to and there is no value": {
			from: `{name: X, required: false}`, to: `{name: X, immutable: true}`,
			request: parameters.Request{Consented: []string{"X"}},
			want: answer{
				Refused: []string{"parameter 'X' was changed to immutable in operator version 0.2.0 but no value was provided"},
			},
		},
		"added immutable, with a default": {
			to: `{name: X, default: d, immutable: true}`,
			want: answer{
				Refused: []string{"parameter 'X' was added in operator version 0.2.0, but no value was provided (default would be d)"},
			},
		},
		"added immutable, without a default": {
			to:   `{name: X, immutable: true}`,
			want: answer{Refused: []string{"parameter 'X' was added in operator version 0.2.0, but no value was provided"}},
		},
		"added immutable, given": {
			to:      `{name: X, default: d, immutable: true}`,
			request: parameters.Request{Wanted: values{"X": "e"}},
			want:    answer{Values: values{"X": "e"}, Plan: "upgrade"},
		},
		"added immutable, consented to: the default": {
			to:      `{name: X, default: d, immutable: true}`,
			request: parameters.Request{Consented: []string{"X"}},
			want:    answer{Values: values{"X": "d"}, Plan: "upgrade"},
		},
		"added immutable, consented to without a default": {
			to:      `{name: X, immutable: true}`,
			request: parameters.Request{Consented: []string{"X"}},
			want:    answer{Refused: []string{"parameter 'X' was added in operator version 0.2.0, but no value was provided"}},
		},
		"added immutable, a leftover of that name is no value given": {
			to:      `{name: X, default: d, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "old"}, Wanted: values{"X": "old"}},
			want: answer{
				Refused: []string{"parameter 'X' was added in operator version 0.2.0, but no value was provided (default would be d)"},
			},
		},
		"becomes mutable: keeps its value": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: b}`,
			request: parameters.Request{Stored: values{"X": "a"}, Wanted: values{"X": "a"}},
			want:    answer{Values: values{"X": "a"}, Plan: "upgrade"},
		},
		"becomes mutable: keeps a value that was never stored": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: b}`,
			want: answer{Values: values{"X": "a"}, Plan: "upgrade"},
		},
		"becomes mutable: changed in this very upgrade": {
			from: `{name: X, default: a, immutable: true}`, to: `{name: X, default: b}`,
			request: parameters.Request{Stored: values{"X": "a"}, Wanted: values{"X": "c"}},
			want:    answer{Values: values{"X": "c"}, Plan: "upgrade"},
		},
		"an immutable parameter is removed: its value goes": {
			from:    `{name: X, default: a, immutable: true}, {name: Y, default: b}`,
			request: parameters.Request{Stored: values{"X": "a", "Y": "c"}, Wanted: values{"X": "a", "Y": "c"}},
			want:    answer{Values: values{}, Plan: "upgrade"},
		},
		"a removed parameter is given another value": {
			from:    `{name: X, default: a, immutable: true}`,
			request: parameters.Request{Stored: values{"X": "a"}, Wanted: values{"X": "b"}},
			want:    answer{Refused: []string{"parameter 'X' is unknown: operator version tok-1.0-0.2.0 has no such parameter"}},
		},
		"consent to a name that is not there": {
			request: parameters.Request{Consented: []string{"TYPO"}},
			want:    answer{Refused: []string{"parameter 'TYPO' is unknown: operator version tok-1.0-0.2.0 has no such parameter"}},
		},
		"mutable in both: the new default is seen, nothing is stored": {
			from: `{name: X, default: a}`, to: `{name: X, default: b}`,
			want: answer{Values: values{}, Plan: "upgrade"},
		},
		"a required mutable parameter is added": {
			to:   `{name: X}`,
			want: answer{Refused: []string{"parameter 'X' is required but no value was provided"}},
		},
		"every refusal at once": {
			from: `{name: KEPT, default: a, immutable: true}, {name: GONE, default: a, immutable: true}, {name: LATER, default: a}`,
			to: `{name: NEW, default: "7", immutable: true}, {name: KEPT, default: a, immutable: true}, ` +
				`{name: LATER, default: a, immutable: true}, {name: SIZE, type: integer, default: "1"}`,
			request: parameters.Request{
				Stored: values{"KEPT": "a", "GONE": "b", "LATER": "c"},
				Wanted: values{"GONE": "b", "LATER": "c", "SIZE": "x", "TYPO": "1"}, Running: "deploy",
			},
			want: answer{Refused: []string{
				"parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be 7)",
				"parameter 'KEPT' is immutable but was removed (value 'a')",
				"parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided",
				"parameter 'SIZE' has the value 'x', which is not of type integer",
				"parameter 'TYPO' is unknown: operator version tok-1.0-0.2.0 has no such parameter",
				"plan 'deploy' is running: wait until it has ended",
			}},
		},
		"while the upgrade plan runs": {
			request: parameters.Request{Running: "upgrade"},
			want:    answer{Refused: []string{"plan 'upgrade' is running: wait until it has ended"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			from := version(t, `{version: 0.1.0, `+all+`, params: [`+test.from+`]}`)
			to := version(t, `{version: 0.2.0, `+all+`, params: [`+test.to+`]}`)
			check(t, test.want, parameters.Upgrade(from, to, test.request))
		})
	}
}

func TestUpgradeVersions(t *testing.T) {
	tests := map[string]struct {
		from, to string
		want     answer
	}{
		"higher":           {from: `{version: 0.9.0}`, to: `{version: 0.10.0}`, want: answer{Values: values{}, Plan: "deploy"}},
		"release after rc": {from: `{version: 1.0.0-rc1}`, to: `{version: 1.0.0}`, want: answer{Values: values{}, Plan: "deploy"}},
		"short":            {from: `{version: "1"}`, to: `{version: "1.1"}`, want: answer{Values: values{}, Plan: "deploy"}},
		"lower": {
			from: `{version: 0.2.0}`, to: `{version: 0.1.0}`,
			want: answer{
				Refused: []string{"operator version tok-1.0-0.1.0 is lower than tok-1.0-0.2.0: " +
					"an upgrade goes to a higher one (version 0.1.0 after 0.2.0)"},
			},
		},
		"equal": {
			from: `{version: 0.2.0}`, to: `{version: 0.2.0}`,
			want: answer{Refused: []string{"operator version tok-1.0-0.2.0 is not higher than tok-1.0-0.2.0: both are version 0.2.0"}},
		},
		"another operator": {
			from: `{version: 0.1.0}`, to: `{version: 0.2.0, operator: kafka}`,
			want: answer{Refused: []string{"operator version kafka-1.0-0.2.0 is of operator 'kafka', the instance is of 'tok'"}},
		},
		"no version": {
			from: `{version: 0.1.0}`, to: `{version: newest}`,
			want: answer{Refused: []string{`operator version tok-1.0-newest: "newest" is not a semantic version`}},
		},
		"the update plan": {
			from: `{version: 0.1.0}`, to: `{version: 0.2.0, plans: [deploy, update]}`,
			want: answer{Values: values{}, Plan: "update"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, test.want, parameters.Upgrade(version(t, test.from), version(t, test.to), parameters.Request{}))
		})
	}
}

func TestRollback(t *testing.T) {
	from := version(t, `{version: 0.2.0, params: [
		{name: BOTH, default: a, immutable: true}, {name: LATER, default: a, immutable: true},
		{name: NEW, default: a, immutable: true}, {name: FREED, default: a}]}`)
	to := version(t, `{version: 0.1.0, params: [
		{name: BOTH, default: a, immutable: true}, {name: LATER, default: a}, {name: GONE, default: a, immutable: true},
		{name: FREED, default: a, immutable: true}]}`)
	stored := values{"BOTH": "1", "LATER": "2", "NEW": "3", "FREED": "5"}
	recorded := values{"BOTH": "1", "GONE": "4", "FREED": "6"}
	tests := map[string]struct {
		request parameters.Request
		to      *parameters.Version
		want    answer
	}{
		"restores what was recorded": {
			request: parameters.Request{Stored: stored, Wanted: stored, Recorded: recorded},
			want:    answer{Values: recorded, Plan: "deploy"},
		},
		"the recorded values, spelled out": {
			request: parameters.Request{Stored: stored, Wanted: recorded, Recorded: recorded},
			want:    answer{Values: recorded, Plan: "deploy"},
		},
		"an immutable parameter without a record gets its default": {
			request: parameters.Request{Stored: stored, Wanted: stored, Recorded: values{"BOTH": "1", "FREED": "6"}},
			want:    answer{Values: values{"BOTH": "1", "GONE": "a", "FREED": "6"}, Plan: "deploy"},
		},
		"immutable in both and recorded otherwise": {
			request: parameters.Request{Stored: stored, Wanted: stored, Recorded: values{"BOTH": "9"}},
			want:    answer{Refused: []string{"parameter 'BOTH' is immutable but was changed from '1' to '9'"}},
		},
		"nothing recorded, a value given, a plan running": {
			request: parameters.Request{Stored: values{"BOTH": "a"}, Wanted: values{"BOTH": "a", "LATER": "x"}, Running: "deploy"},
			want: answer{Refused: []string{
				"parameter 'LATER' cannot be set in a rollback: it restores the values recorded for operator version 0.1.0",
				"no values are recorded for operator version tok-1.0-0.1.0: there is nothing to roll back to",
				"plan 'deploy' is running: wait until it has ended",
			}},
		},
		"another operator": {
			request: parameters.Request{Recorded: values{}}, to: version(t, `{operator: kafka, version: 0.1.0}`),
			want: answer{Refused: []string{"operator version kafka-1.0-0.1.0 is of operator 'kafka', the instance is of 'tok'"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.to == nil {
				test.to = to
			}
			check(t, test.want, parameters.Rollback(from, test.to, test.request))
		})
	}
}

func TestRows(t *testing.T) {
	from := version(t, `{version: 0.1.0, params: [
		{name: HELD, default: a, immutable: true}, {name: LATER, default: a}, {name: FREED, default: a, immutable: true},
		{name: GONE, default: a}, {name: PLAIN, default: a}]}`)
	to := version(t, `{version: 0.2.0, params: [
		{name: HELD, default: b, immutable: true}, {name: LATER, default: a, immutable: true}, {name: FREED, default: b},
		{name: PLAIN, default: b},
		{name: NEW, default: d, immutable: true}, {name: MORE, required: false}]}`)
	got := parameters.Upgrade(from, to, parameters.Request{
		Stored: values{"FREED": "x"}, Wanted: values{"FREED": "y"}, Consented: []string{"NEW"},
	})
	text := func(s string) *string { return &s }
	want := []parameters.Row{
		{Name: "HELD", Mutability: "immutable", Old: text("a"), New: text("a"), Pinned: true},
		{
			Name: "LATER", Mutability: "becomes immutable", Old: text("a"), New: text("a"),
			Refused: []string{"parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided"},
		},
		{Name: "FREED", Mutability: "becomes mutable", Old: text("x"), New: text("y"), Changed: true},
		{Name: "PLAIN", Mutability: "mutable", Old: text("a"), New: text("b"), Changed: true},
		{Name: "NEW", Mutability: "added immutable", New: text("d"), Changed: true, Pinned: true},
		{Name: "MORE", Mutability: "added"},
		{Name: "GONE", Mutability: "removed", Old: text("a"), Changed: true},
	}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
