package manager_test

import (
	"strings"
	"testing"
)

// TestWebhookHidden checks that the answers show no values to users who may not get the Instance.
func TestWebhookHidden(t *testing.T) {
	t.Parallel()
	checkAnswers(t, map[string]answered{
		"removed, by a user who may not get the instance": {
			review{
				operation: "UPDATE", user: "bob", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: null}`, 1),
			},
			exactly + invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was removed`,
		},
		"changed, by a user who may not get the instance": {
			review{
				operation: "UPDATE", user: "bob", oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: "9"}`, 1),
			},
			exactly + invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed`,
		},
		"a plan runs, for a user who may not get the instance": {
			review{
				operation: "UPDATE", user: "bob", oldObj: strings.Replace(stored, `{uid: one}`, `{planName: backup, uid: five}`, 1),
				newObj: strings.NewReplacer(
					`{uid: one}`, `{planName: backup, uid: five}`, `{TOKENS: "256"}`, `{TOKENS: "256", CPUS: "2"}`).Replace(stored),
			},
			exactly + `Conflict: Operation cannot be fulfilled on instances.kudo.dev "tok": a plan is running: wait until it has ended`,
		},
		"a lower version, for a user who may not get the instance": {
			review{operation: "UPDATE", user: "bob", oldObj: later, newObj: strings.Replace(later, `{name: tok-0.2.0}`, `{name: tok-0.1.0}`, 1)},
			exactly + invalid + `spec: Forbidden: operator version tok-0.1.0 is lower than the installed one: an upgrade goes to a higher one`,
		},
	})
}
