package decision_test

import "testing"

// TestReviewAuthors has the authors of values, and the writes of the server, which is no author.
func TestReviewAuthors(t *testing.T) {
	checkDecisions(t, map[string]judged{
		"authors: a value that is set again has the user that sets it as its author": {
			old: `{metadata: {annotations: {record: '{"username":"root","authors":{"CPUS":["root"],"KEEP":["root"],"TOKENS":["root"]}}'}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2", KEEP: all}}}`,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3", KEEP: all}}}`,
			want: `{metadata: {annotations: {
				record: '{"username":"jane","authors":{"CPUS":["jane"],"KEEP":["root"],"TOKENS":["root"]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3", KEEP: all},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: the default has none, a removed value has none": {
			old: `{metadata: {annotations: {record: '{"username":"root","authors":{"CPUS":["root"],"LATER":["root"],"TOKENS":["root"]}}'}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2", LATER: b}}}`,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "1"}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "1"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: not known if the stored record does not verify": {
			old: `{metadata: {annotations: {` + forged + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: a}}}`,
			new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: a, CPUS: "2"}}}`,
			want: `{metadata: {annotations: {record: '{"username":"jane","authors":{"CPUS":["jane"],"TOKENS":[""]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: a, CPUS: "2"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: a forged record stays as it is while no plan runs": {
			old: `{metadata: {annotations: {` + forged + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {labels: {a: b}, annotations: {` + forged + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"authors: a rollback to values with a forged history": {
			old: `{metadata: {annotations: {` + root + `, ` + recordedOnly + `, holdfast.dev/sealed-history: v1.a.b}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"authors: a rollback restores values with their authors": {
			old: `{metadata: {annotations: {` + root + `, history: '[{"CPUS":["root"],"KEEP":[""]}]',
				holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"8","CPUS":"4","KEEP":"all"}}]'}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d, CPUS: "5"}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d, CPUS: "5"}}}`,
			want: `{metadata: {annotations: {
				record: '{"username":"jane","authors":{"CPUS":["root"],"KEEP":[""],"TOKENS":["root"]}}', ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "4", KEEP: all},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"the server: an instance that it creates has no record": {
			by: "server", new: fresh,
			want: `{metadata: {annotations: {` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"the server: its write keeps the record": {
			by: "server", old: stored,
			new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {labels: {a: b}, annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
	})
}
