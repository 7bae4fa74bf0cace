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
		parameters: [{name: TOKENS, default: "1", immutable: true}, {name: LATER, default: a, immutable: true}, {name: NEW, default: d, immutable: true}, {name: CPUS, default: "1"}]}`,
}

// find finds a version of the tests.
func find(name string) (*api.OperatorVersion, error) {
	text, found := versions[name]
	if !found {
		return nil, nil
	}
	version := &api.OperatorVersion{}
	version.Name = name
	return version, yaml.UnmarshalStrict([]byte(text), &version.Spec)
}

// instance reads an Instance, with the digests of versions in their places.
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
	jane = `holdfast.dev/requested-by: '{"username":"jane","groups":["dev"]}', ` + judged
	late = `holdfast.dev/requested-by: '{"username":"jane","groups":["dev"]}', ` + rejudged
	root = `holdfast.dev/requested-by: '{"username":"root"}'`
	left = `holdfast.dev/recorded-parameters: '[{"operatorVersion":"tok-0.1.0","parameters":{"TOKENS":"8"}}]'`

	// judged and rejudged stand for the digests of the two versions, other for one of
	// another content.
	judged   = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.1.0","digest":"FIRST"}'`
	rejudged = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.2.0","digest":"SECOND"}'`
	other    = `holdfast.dev/judged-with: '{"operatorVersion":"tok-0.1.0","digest":"sha256:0"}'`

	fresh   = `{spec: {operatorVersion: {name: tok-0.1.0}}}`
	stored  = `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`
	running = `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: deploy, uid: a}},
		status: {planStatus: {deploy: {uid: a, status: IN_PROGRESS}}}}`
	ended = `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: deploy, uid: a}},
		status: {planStatus: {deploy: {uid: a, status: COMPLETE}}}}`
	upgraded = `{metadata: {annotations: {` + root + `, ` + left + `}}, spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`
)

func TestReview(t *testing.T) {
	tests := map[string]struct {
		old, new, want string
		refused        []string
		conflict       bool
	}{
		"install: defaults pinned, deploy runs, the user is written down": {
			new:  `{metadata: {annotations: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, planExecution: {planName: backup, uid: mine, status: COMPLETE}}}`,
			want: `{metadata: {annotations: {a: b, ` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: nobody chooses whose rights, or what was before": {
			new:  `{metadata: {annotations: {` + root + `, ` + left + `, holdfast.dev/rollback-to: x}}, spec: {operatorVersion: {name: tok-0.1.0}}}`,
			want: `{metadata: {annotations: {` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: unknown version":   {new: `{spec: {operatorVersion: {name: gone}}}`, refused: []string{"operator version gone does not exist"}},
		"install: another namespace": {new: `{metadata: {namespace: a}, spec: {operatorVersion: {name: tok-0.1.0, namespace: b}}}`, refused: []string{"operator version tok-0.1.0 is in namespace b: an instance has one of its own namespace"}},
		"update: refused":            {old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "9"}}}`, refused: []string{"parameter 'TOKENS' is immutable but was changed from '8' to '9'"}},
		"update: the key removed":    {old: stored, new: fresh, refused: []string{"parameter 'TOKENS' is immutable but was removed (value '8')"}},
		"update: a plan runs for the one who changes": {
			old: stored, new: `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}}}`,
			want: `{metadata: {annotations: {` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: nothing runs, nobody is written down, what was stays": {
			old: stored, new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {labels: {a: b}, annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"update: values pinned that were never stored": {
			old: fresh, new: fresh, want: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}}}`,
		},
		"update: a plan by name": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: backup}}}`,
			want: `{metadata: {annotations: {` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: backup, uid: new}}}`,
		},
		"update: cleanup by name": {
			old: stored, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: cleanup}}}`,
			refused: []string{"plan 'cleanup' runs when the instance is deleted"},
		},
		"update: cleanup of a deleted instance runs for the last requester": {
			old:  running,
			new:  `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + root + `, ` + judged + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup with another value runs for the one who changes": {
			old:  `{metadata: {annotations: {` + root + `, ` + other + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new:  `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all}, planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", KEEP: all}, planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: cleanup stays with the content that the last requester asked for": {
			old:  `{metadata: {annotations: {` + root + `, ` + other + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new:  `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: cleanup}}}`,
			want: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {` + root + `, ` + other + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: cleanup, uid: new}}}`,
		},
		"update: who runs nothing binds to nothing": {
			old:  `{metadata: {annotations: {` + root + `, ` + other + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new:  `{metadata: {annotations: {` + judged + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {annotations: {` + root + `, ` + other + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
		},
		"update: who runs a plan binds it to the content of now": {
			old:  `{metadata: {annotations: {` + root + `, ` + other + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			new:  `{metadata: {annotations: {` + other + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}}}`,
			want: `{metadata: {annotations: {` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "2"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: another plan while one runs": {
			old: running, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: backup}}}`,
			refused: []string{"plan 'deploy' is running: wait until it has ended"}, conflict: true,
		},
		"update: the same plan is restarted": {
			old: running, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3"}, planExecution: {planName: deploy, uid: a}}}`,
			want: `{metadata: {annotations: {` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "3"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"update: nobody stops a plan that runs": {
			old: running, new: stored,
			want: `{metadata: {annotations: {` + root + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: deploy, uid: a}}}`,
		},
		"update: one that has ended is cleared": {
			old: ended, new: stored, want: stored,
		},
		"update: the version is gone and nothing is asked": {
			old: `{spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`, new: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
			want: `{metadata: {labels: {a: b}}, spec: {operatorVersion: {name: gone}, parameters: {A: b}}}`,
		},
		"update: the version is gone": {
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
			old: stored, new: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.3.0","names":["LATER","NEW"]}'}}, spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{
				"parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided",
				"parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be d)",
			},
		},
		"upgrade: with consent, and what was left is written down": {
			old: stored,
			new: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}'}}, spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8"}}}`,
			want: `{metadata: {annotations: {holdfast.dev/given-parameters: '{"operatorVersion":"tok-0.2.0","names":["LATER","NEW"]}', ` + late + `, ` + left + `}},
				spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: a, NEW: d}, planExecution: {planName: upgrade, uid: new}}}`,
		},
		"upgrade: while a plan runs": {
			old: running, new: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}, planExecution: {planName: deploy, uid: a}}}`,
			refused: []string{"plan 'deploy' is running: wait until it has ended"}, conflict: true,
		},
		"a lower version": {
			old: upgraded, new: `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}}}`,
			refused: []string{"operator version tok-0.1.0 is lower than tok-0.2.0: an upgrade goes to a higher one (version 0.1.0 after 0.2.0)"},
		},
		"rollback": {
			old: upgraded, new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			want: `{metadata: {annotations: {` + jane + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8"}, planExecution: {planName: deploy, uid: new}}}`,
		},
		"rollback: to records that a client made up": {
			old: `{spec: {operatorVersion: {name: tok-0.2.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
			new: `{metadata: {annotations: {holdfast.dev/rollback-to: tok-0.1.0, ` + left + `}}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", LATER: b, NEW: d}}}`,
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
			given := review.New.DeepCopy()
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
			if diff := cmp.Diff(given, review.New); diff != "" {
				t.Errorf("what was given changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReviewUnreadable(t *testing.T) {
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
