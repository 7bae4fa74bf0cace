package parameters_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/parameters"
)

// Rule of a refusal has nothing that the instance stores.
func TestRefusalRules(t *testing.T) {
	installed := version(t, `{version: 0.1.0, params: [{name: FIXED, immutable: true}, {name: SIZE}, {name: KEPT, immutable: true}]}`)
	const stored = "stored"
	values := map[string]string{"FIXED": stored, "SIZE": stored, "KEPT": stored}
	tests := map[string]struct {
		decision parameters.Decision
		want     []string
	}{
		"changed and removed": {
			parameters.Update(installed, parameters.Request{Stored: values, Wanted: map[string]string{"FIXED": "new", "SIZE": stored}}),
			[]string{"parameter 'FIXED' is immutable but was changed", "parameter 'KEPT' is immutable but was removed"},
		},
		"a plan runs": {
			parameters.Update(installed, parameters.Request{
				Stored: values, Wanted: map[string]string{"FIXED": stored, "SIZE": "new", "KEPT": stored}, Running: stored,
			}),
			[]string{"a plan is running: wait until it has ended"},
		},
		"a stored value of another type": {
			parameters.Upgrade(installed, version(t, `{version: 0.2.0, params: [{name: SIZE, type: integer}]}`),
				parameters.Request{Stored: values, Wanted: values}),
			[]string{"parameter 'SIZE' has a value that is not of type integer"},
		},
		"a stored value that is no longer allowed": {
			parameters.Upgrade(installed, version(t, `{version: 0.2.0, params: [{name: SIZE, enum: [a, b]}]}`),
				parameters.Request{Stored: values, Wanted: values}),
			[]string{"parameter 'SIZE' has another value than the allowed 'a', 'b'"},
		},
		"the same version": {
			parameters.Upgrade(version(t, `{version: 0.2.0}`), version(t, `{version: 0.2.0}`), parameters.Request{}),
			[]string{"operator version tok-1.0-0.2.0 is not higher than the installed one"},
		},
		"a lower version": {
			parameters.Upgrade(version(t, `{version: 0.3.0}`), version(t, `{version: 0.2.0}`), parameters.Request{}),
			[]string{"operator version tok-1.0-0.2.0 is lower than the installed one: an upgrade goes to a higher one"},
		},
		"another operator": {
			parameters.Upgrade(version(t, `{operator: stored, version: 0.1.0}`), version(t, `{version: 0.2.0}`), parameters.Request{}),
			[]string{"operator version tok-1.0-0.2.0 is of operator 'tok', the instance is of another"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, refusal := range test.decision.Refusals {
				got = append(got, refusal.Rule)
				if strings.Contains(refusal.Rule, stored) || refusal.Rule == refusal.Message {
					t.Errorf("rule %q of message %q", refusal.Rule, refusal.Message)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
