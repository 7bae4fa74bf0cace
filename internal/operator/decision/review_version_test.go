package decision_test

import "testing"

// TestReviewVersion has upgrades and rollbacks.
func TestReviewVersion(t *testing.T) {
	checkDecisions(t, map[string]judged{
		"upgrade: without consent": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{
				"parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided",
				"parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be d)",
			},
		},
		"upgrade: consent for another version": {
			old: stored,
			new: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.3.0","names":["LATER","NEW"]}'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{
				"parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided",
				"parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be d)",
			},
		},
		"upgrade: with consent, the earlier version is recorded": {
			old: stored,
			new: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}',
				record: '{"username":"jane","authors":{"TOKENS":["root"]}}', ` + boundSecond + `, ` + recorded + `}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: a, NEW: d}, planExecution: {planName: upgrade, uid: new}}}`,
		},
		"upgrade: a version that never worked is not recorded": {
			old: `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}},
				status: {workingVersion: tok-0.0.9}}`,
			new: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}',
				record: '{"username":"jane","authors":{"TOKENS":["root"]}}', ` + boundSecond + `}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: a, NEW: d}, planExecution: {planName: upgrade, uid: new}}}`,
		},
		"rollback: past a later version": {
			old: `{metadata: {annotations: {` + root + `, holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"8"}},` +
				`{"operatorVersion":"tok-0.1.5","parameters":{"TOKENS":"8"}}]', history: '[{"TOKENS":["root"]},{"TOKENS":["jane"]}]'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"upgrade: while a plan runs": {
			old: running,
			new: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d},
				planExecution: {planName: deploy, uid: a}}}`,
			refused: []string{"plan 'deploy' is running: wait until it has ended"}, conflict: true,
		},
		"a lower version": {
			old: upgraded, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{"operator version tok-0.1.0 is lower than tok-0.2.0: an upgrade goes to a higher one (version 0.1.0 after 0.2.0)"},
		},
		"rollback": {
			old: upgraded,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"rollback: to records that a client made up": {
			old: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0, ` + recordedOnly + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			refused: []string{
				"parameter 'TOKENS' is immutable but was changed from '8' to '256'",
				"no values are recorded for operator version tok-0.1.0: there is nothing to roll back to",
			},
		},
	})
}
