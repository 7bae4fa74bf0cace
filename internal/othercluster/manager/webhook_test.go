package manager_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/othercluster/manager"
)

const (
	invalid = `Unprocessable Entity: Instance.kudo.dev "tok" is invalid: `
	// exactly marks a wanted text that is the whole answer, not its beginning.
	exactly = "="
)

// answered is a review of an Instance, and the answer as summary formats it.
type answered struct {
	review
	want string
}

// checkAnswers checks the answers to reviews, by name.
func checkAnswers(t *testing.T, tests map[string]answered) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.path, test.resource = manager.MutatePath, "instances"
			got := summary(t, test.ask(t))
			want, isWhole := strings.CutPrefix(test.want, exactly)
			if !strings.HasPrefix(got, want) || (isWhole || strings.HasPrefix(want, "allowed")) && got != want {
				t.Errorf("answer (-want +got):\n%s", gocmp.Diff(want, got))
			}
		})
	}
}

func TestWebhookInstall(t *testing.T) {
	t.Parallel()
	checkAnswers(t, map[string]answered{
		"install": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`},
			`allowed; add /metadata/annotations {"holdfast.dev/requested-by":"{\"username\":\"ann\"}"}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"install, a client sets the requester": {
			review{
				operation: "CREATE",
				newObj: `{` + head + `, metadata: {name: tok, annotations: {a: b, holdfast.dev/requested-by: '{"username":"root"}'}},
			  spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}}}`,
			},
			`allowed; add /metadata/annotations {"a":"b","holdfast.dev/requested-by":"{\"username\":\"ann\"}"}; ` +
				`add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"install, by the controller": {
			review{
				operation: "CREATE", user: controllerUser,
				newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`,
			},
			`allowed; add /metadata/annotations {}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"install, by a user with the name of the controller of our own server": {
			review{
				operation: "CREATE", user: authorship.ControllerUser,
				newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`,
			},
			`allowed; add /metadata/annotations {"holdfast.dev/requested-by":"{\"username\":\"system:holdfast:operator-controller\"}"}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
	})
}

func TestWebhookUpdate(t *testing.T) {
	t.Parallel()
	checkAnswers(t, map[string]answered{
		"all refusals at once": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: "9", NOBODY: "1"}`, 1)},
			invalid + `[spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '9', ` +
				`spec.parameters[NOBODY]: Forbidden: parameter 'NOBODY' is unknown: operator version tok-0.1.0 has no such parameter]`,
		},
		"null is removed": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: null}`, 1)},
			invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was removed (value '256')`,
		},
		"an outdated write is left to the storage": {
			review{
				operation: "UPDATE",
				oldObj:    stored,
				newObj:    strings.NewReplacer(`"7"`, `"6"`, `{TOKENS: "256"}`, `{TOKENS: "9"}`).Replace(stored),
			},
			`allowed`,
		},
		"a resource version with a leading zero is current": {
			review{
				operation: "UPDATE",
				oldObj:    stored,
				newObj:    strings.NewReplacer(`"7"`, `"07"`, `{TOKENS: "256"}`, `{TOKENS: "9"}`).Replace(stored),
			},
			invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '9'`,
		},
		"resource version 0": {
			review{
				operation: "UPDATE",
				oldObj:    stored,
				newObj:    strings.NewReplacer(`"7"`, `"0"`, `{TOKENS: "256"}`, `{TOKENS: "9"}`).Replace(stored),
			},
			invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '9'`,
		},
		"a label": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `name: tok,`, `name: tok, labels: {a: b},`, 1)}, `allowed`,
		},
		"a plan runs": {
			review{
				operation: "UPDATE", oldObj: strings.Replace(stored, `{uid: one}`, `{planName: backup, uid: five}`, 1),
				newObj: strings.NewReplacer(
					`{uid: one}`, `{planName: backup, uid: five}`, `{TOKENS: "256"}`, `{TOKENS: "256", CPUS: "2"}`).Replace(stored),
			},
			`Conflict: Operation cannot be fulfilled on instances.kudo.dev "tok": plan 'backup' is running: wait until it has ended`,
		},
		"a write of the status is not judged": {
			review{operation: "UPDATE", subresource: "status", oldObj: stored, newObj: strings.Replace(stored, `"256"`, `"9"`, 1)}, `allowed`,
		},
		"deleted": {review{operation: "DELETE", oldObj: stored}, `allowed`},
	})
}
