package decision_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/decision"
)

// judged is a write of an Instance, and what admission makes of it.
type judged struct {
	old, new, want string
	// by is the user that makes the write; "" means jane.
	by       string
	refused  []string
	conflict bool
}

// checkDecisions checks the decisions about writes, by name.
func checkDecisions(t *testing.T, tests map[string]judged) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			review := decision.Review{
				Old: instance(t, test.old), New: instance(t, test.new), Requester: users["jane"], Keys: keys,
				NewUID: func() types.UID { return "new" }, Version: find,
				MayGet: func(string) (bool, error) { return false, nil },
			}
			if test.by != "" {
				review.Requester = users[test.by]
			}
			if review.Old != nil {
				seal(t, review.Old)
			}
			argument := review.New.DeepCopy()
			result, err := review.Decide(t.Context())
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
			if diff := cmp.Diff(instance(t, test.want), open(t, result.Instance)); diff != "" {
				t.Errorf("instance (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(argument, review.New); diff != "" {
				t.Errorf("the argument was modified (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReviewInstall(t *testing.T) {
	checkDecisions(t, map[string]judged{
		"install: defaults of immutable parameters are stored, deploy runs, the user is recorded": {
			new: `{metadata: {annotations: {a: b}},
				spec: {operatorVersion: {name: tok-0.1.0},
				planExecution: {planName: backup, uid: mine, status: COMPLETE}}}`,
			want: `{metadata: {annotations: {a: b, ` + first + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: a client cannot set the annotations of admission": {
			new: `{metadata: {annotations: {` + forged + `, ` + recordedOnly + `, holdfast.dev/sealed-history: x, holdfast.dev/rollback-to: x}},
				spec: {operatorVersion: {name: tok-0.1.0}}}`,
			want: `{metadata: {annotations: {` + first + `}},
				spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"},
				planExecution: {planName: deploy, uid: new}}}`,
		},
		"install: unknown version": {
			new: `{spec: {operatorVersion: {name: gone}}}`, refused: []string{"operator version gone does not exist"},
		},
		"install: another namespace": {
			new:     `{metadata: {namespace: a}, spec: {operatorVersion: {name: tok-0.1.0, namespace: b}}}`,
			refused: []string{`operator version b/tok-0.1.0 is in another namespace: user "jane" must be allowed to get it there`},
		},
		"install: no version": {
			new: `{spec: {parameters: {TOKENS: "8"}}}`, refused: []string{"operatorVersion.name is required"},
		},
	})
}

func TestReviewUnreadableAnnotation(t *testing.T) {
	review := decision.Review{
		Keys: keys,
		Old:  seal(t, instance(t, stored)),
		New:  instance(t, `{metadata: {annotations: {holdfast.dev/given-parameters: LATER}}, spec: {operatorVersion: {name: tok-0.2.0}}}`),
		Version: func(name string) (*api.OperatorVersion, error) {
			version := &api.OperatorVersion{}
			version.Name = name
			return version, nil
		},
	}
	_, err := review.Decide(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "metadata.annotations[holdfast.dev/given-parameters]: ") {
		t.Errorf("got %v", err)
	}
}

// TestServerStartsNoRun checks that a run which a write of the server starts has no record
// that verifies.
func TestServerStartsNoRun(t *testing.T) {
	review := decision.Review{
		Old: seal(t, instance(t, stored)), Requester: users["server"], Keys: keys, Version: find,
		New:    instance(t, `{spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "8", CPUS: "9"}}}`),
		NewUID: func() types.UID { return "new" },
	}
	result, err := review.Decide(t.Context())
	if err != nil || result.Instance == nil {
		t.Fatalf("%+v, %v", result.Decision, err)
	}
	if record, err := keys.Record(t.Context(), result.Instance); err == nil {
		t.Errorf("the record is %+v", record)
	}
}
