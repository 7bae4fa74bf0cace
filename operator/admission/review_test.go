package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/admission"
	"holdfast.dev/holdfast/operator/api"
)

var versions = map[string]string{
	"tok-0.1.0": `{version: 0.1.0, operator: {name: tok}, plans: {deploy: {}, backup: {}, cleanup: {}},
		parameters: [{name: TOKENS, default: "256", immutable: true}, {name: LATER, default: a}, {name: CPUS, default: "1"},
			{name: KEEP, default: none, trigger: cleanup}]}`,
	"tok-0.2.0": `{version: 0.2.0, operator: {name: tok}, plans: {deploy: {}, upgrade: {}},
		parameters: [{name: TOKENS, default: "1", immutable: true}, {name: LATER, default: a, immutable: true},
			{name: NEW, default: d, immutable: true}, {name: CPUS, default: "1"}]}`,
}

// find returns one of the OperatorVersions above, nil if there is none.
func find(name string) (*api.OperatorVersion, error) {
	text, found := versions[name]
	if !found {
		return nil, nil
	}
	version := &api.OperatorVersion{}
	version.Name = name
	return version, yaml.UnmarshalStrict([]byte(text), &version.Spec)
}

// instance decodes an Instance. The words FIRST and SECOND stand for the digests of the
// two OperatorVersions.
func instance(t *testing.T, text string) *api.Instance {
	t.Helper()
	if text == "" {
		return nil
	}
	for place, name := range map[string]string{"FIRST": "tok-0.1.0", "SECOND": "tok-0.2.0"} {
		version, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		binding, err := version.Binding()
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, place, binding.Digest)
	}
	read := &api.Instance{}
	if err := yaml.UnmarshalStrict([]byte(text), read); err != nil {
		t.Fatal(err)
	}
	return read
}

const (
	jane     = `holdfast.dev/requested-by: '{"username":"jane","groups":["dev"]}', ` + boundFirst
	late     = `holdfast.dev/requested-by: '{"username":"jane","groups":["dev"]}', ` + boundSecond
	root     = `holdfast.dev/requested-by: '{"username":"root"}'`
	recorded = `holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"8"}}]'`

	// boundFirst and boundSecond bind to the current content of the two versions,
	// boundOther to another content of the first.
	boundFirst  = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.1.0","digest":"FIRST"}'`
	boundSecond = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.2.0","digest":"SECOND"}'`
	boundOther  = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.1.0","digest":"sha256:0"}'`

	fresh   = `{spec: {operatorVersion: {name: tok-0.1.0}}}`
	stored  = `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`
	running = `{metadata: {annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: a}},
		status: {planStatus: {deploy: {uid: a, status: IN_PROGRESS}}}}`
	ended = `{metadata: {annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: deploy, uid: a}},
		status: {planStatus: {deploy: {uid: a, status: COMPLETE}}}}`
	upgraded = `{metadata: {annotations: {` + root + `, ` + recorded + `}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`
)

func TestReview(t *testing.T) {
	tests := map[string]struct {
		old, new, want string
		refused        []string
		conflict       bool
	}{
		"install: defaults of immutable parameters are stored, deploy runs, the user is recorded": {
			new: `{metadata: {annotations: {a: b}},
				spec: {operatorVersion: {name: tok-0.1.0},
				planExecution: {planName: backup, uid: mine, status: COMPLETE}}}`,
			want: `{metadata: {annotations: {a: b, ` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: a client cannot set the annotations of admission": {
			new: `{metadata: {annotations: {` + root + `, ` + recorded + `, holdfast.dev/rollback-to: x}},
				spec: {operatorVersion: {name: tok-0.1.0}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: unknown version": {
			new: `{spec: {operatorVersion: {name: gone}}}`, refused: []string{"operator version gone does not exist"},
		},
		"install: another namespace": {
			new:     `{metadata: {namespace: a}, spec: {operatorVersion: {name: tok-0.1.0, namespace: b}}}`,
			refused: []string{"operator version tok-0.1.0 is in namespace b: an instance has one of its own namespace"},
		},
		"update: an immutable value changed": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "9"}}}`,
			refused: []string{"parameter 'TOKENS' is immutable but was changed from '8' to '9'"},
		},
		"update: an immutable value removed": {
			old: stored, new: fresh, refused: []string{"parameter 'TOKENS' is immutable but was removed (value '8')"},
		},
		"update: the plan runs with the rights of the user that changes a value": {
			old: stored,
			new: `{metadata: {annotations: {` + root + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}}}`,
			want: `{metadata: {annotations: {` + jane + `}},
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
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + root + `, ` + boundFirst + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup with another value has the user that changes it as requester": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + jane + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all},
				planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup keeps the binding of the last requester": {
			old: `{metadata: {annotations: {` + root + `, ` + boundOther + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"},
				planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + root + `, ` + boundOther + `}},
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
			want: `{metadata: {annotations: {` + jane + `}},
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
			want: `{metadata: {annotations: {` + jane + `}},
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
			want: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}', ` + late +
				`, ` + recorded + `}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: a, NEW: d}, planExecution: {planName: upgrade, uid: new}}}`,
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
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0, ` + recorded + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			refused: []string{
				"parameter 'TOKENS' is immutable but was changed from '8' to '256'",
				"no values are recorded for operator version tok-0.1.0: there is nothing to roll back to",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			review := admission.Review{
				Old: instance(t, test.old), New: instance(t, test.new),
				Requester: api.Requester{Username: "jane", Groups: []string{"dev"}},
				NewUID:    func() types.UID { return "new" },
				Version:   find,
			}
			argument := review.New.DeepCopy()
			result, err := review.Decide()
			if err != nil {
				t.Fatal(err)
			}
			var refused []string
			if err := result.Decision.Err(); err != nil {
				refused = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(test.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if got := result.Decision.Conflict(); got != test.conflict {
				t.Errorf("conflict %t", got)
			}
			if diff := cmp.Diff(instance(t, test.want), result.Instance); diff != "" {
				t.Errorf("instance (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(argument, review.New); diff != "" {
				t.Errorf("the argument was modified (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReviewUnreadableAnnotation(t *testing.T) {
	review := admission.Review{
		Old: instance(t, stored),
		New: instance(t, `{metadata: {annotations: {holdfast.dev/given-parameters: LATER}}, spec: {operatorVersion: {name: tok-0.2.0}}}`),
		Version: func(name string) (*api.OperatorVersion, error) {
			version := &api.OperatorVersion{}
			version.Name = name
			return version, nil
		},
	}
	if _, err := review.Decide(); err == nil || !strings.HasPrefix(err.Error(), "metadata.annotations[holdfast.dev/given-parameters]: ") {
		t.Errorf("got %v", err)
	}
}
