package manager_test

import (
	"strings"
	"testing"
)

// TestWebhookVersion has upgrades and rollbacks, and versions that the webhook cannot read.
func TestWebhookVersion(t *testing.T) {
	t.Parallel()
	checkAnswers(t, map[string]answered{
		"no such version": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: none}}}`},
			invalid + `spec: Forbidden: operator version none does not exist`,
		},
		"an operator version that cannot be read": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: unreadable}}}`},
			`Internal Server Error: Internal error occurred: the server is away`,
		},
		"upgrade without consent": {
			review{operation: "UPDATE", oldObj: stored, newObj: strings.Replace(stored, `tok-0.1.0`, `tok-0.2.0`, 1)},
			invalid + `spec.parameters[CPUS]: Forbidden: parameter 'CPUS' was changed to immutable in operator version 0.2.0 but no value ` +
				`was provided`,
		},
		"rollback": {
			review{operation: "UPDATE", oldObj: later, newObj: rolledBack},
			`allowed; add /metadata/annotations {"holdfast.dev/requested-by":"{\"username\":\"ann\"}"}; ` +
				`add /spec/parameters {"TOKENS":"256"}; add /spec/planExecution {"planName":"deploy","uid":"new"}`,
		},
		"a lower version without the annotation": {
			review{operation: "UPDATE", oldObj: later, newObj: strings.Replace(later, `{name: tok-0.2.0}`, `{name: tok-0.1.0}`, 1)},
			invalid + `spec: Forbidden: operator version tok-0.1.0 is lower than tok-0.2.0`,
		},
		"a lower version, by an object without annotations": {
			review{
				operation: "UPDATE",
				oldObj:    later,
				newObj:    `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}, parameters: {TOKENS: "256"}}}`,
			},
			invalid + `spec: Forbidden: operator version tok-0.1.0 is lower than tok-0.2.0`,
		},
	})
}
