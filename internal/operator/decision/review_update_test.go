package decision_test

import "testing"

func TestReviewUpdate(t *testing.T) {
	checkDecisions(t, map[string]judged{
		"update: an immutable value changed": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "9"}}}`,
			refused: []string{"parameter 'TOKENS' is immutable but was changed from '8' to '9'"},
		},
		"update: an immutable value removed": {
			old: stored, new: fresh, refused: []string{"parameter 'TOKENS' is immutable but was removed (value '8')"},
		},
		"update: the plan runs with the rights of the user that changes a value": {
			old: stored,
			new: `{metadata: {annotations: {` + forged + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}}}`,
			want: `{metadata: {annotations: {` + janeCPUs + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: without a plan the stored requester stays": {
			old: stored, new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {labels: {a: b}, annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"update: the default of an immutable parameter without a stored value is stored": {
			old: fresh, new: fresh, want: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}}}`,
		},
		"update: a plan by name": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: backup}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: backup, uid: new}}}`,
		},
		"update: cleanup by name": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: cleanup}}}`,
			refused: []string{"plan 'cleanup' runs when the instance is deleted"},
		},
		"update: cleanup of a deleted instance keeps the last requester": {
			old: running,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + cleaning + `, ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup with another value has the user that changes it as requester": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {
				record: '{"username":"jane","authors":{"KEEP":["jane"],"TOKENS":["root"]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup keeps the binding of the last requester": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + cleaning + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: without a plan the stored binding stays": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {annotations: {` + boundFirst + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"update: a new run is bound to the current content": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {annotations: {` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}}}`,
			want: `{metadata: {annotations: {` + janeCPUs + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: another plan while one runs": {
			old: running, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: backup}}}`,
			refused: []string{"plan 'deploy' is running: wait until it has ended"}, conflict: true,
		},
		"update: the same plan is restarted": {
			old: running,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3"},
				planExecution: {planName: deploy, uid: a}}}`,
			want: `{metadata: {annotations: {` + janeCPUs + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: a client cannot stop a running plan": {
			old: running, new: stored,
			want: `{metadata: {annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: a}}}`,
		},
		"update: a plan that has ended can be cleared": {
			old: ended, new: stored, want: stored,
		},
		"update: the version is gone, only a label changes": {
			old: `{spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
			new: `{metadata: {labels: {a: b}},
				spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
			want: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
		},
		"update: the version is gone, a value changes": {
			old: `{spec: {operatorVersion: {name: gone}}}`, new: `{spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
			refused: []string{"operator version gone does not exist"},
		},
	})
}
