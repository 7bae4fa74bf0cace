package views_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestItemScenarios has items of lists without a key, and several items with the same key.
// Server-side apply takes the default for a missing key, and items with the same key as one
// value.
func TestItemScenarios(t *testing.T) {
	template := corev1.SchemeGroupVersion.WithKind("PodTemplate")
	file := func(pod string) string {
		return "{apiVersion: v1, kind: PodTemplate, metadata: {name: p}, template: {spec: {" + pod + "}}}"
	}
	patch := func(pod string) operation {
		return mergeWith("kubectl patch", "kubectl-patch", `{"template":{"spec":{`+pod+`}}}`)
	}
	changed := func(field, x, y string) []string {
		return []string{fmt.Sprintf("`kubectl patch` changed the resource PodTemplate/p field .template.spec.%s value from %s to %s.  "+
			"This field is managed by server-side apply (ci) (last set the field to %s).  ci sets it again when it applies.", field, x, y, x)}
	}
	taken := func(field, x, y string) []string {
		return []string{strings.Replace(foreignField(".template.spec."+field, x, y, "  Last set by kubectl patch at TIME."),
			"apps/Deployment/web", "PodTemplate/p", 1)}
	}
	const (
		secrets, env = "imagePullSecrets: [{}]", "containers: [{name: a, env: [{name: A, value: '1'}]}]"
		one, two     = `{"name":"A","value":"1"}`, `[{"name":"A","value":"1"},{"name":"A","value":"2"}]`
		path         = `containers[name="a"].env[name="A"]`
	)
	runScenarios(t, map[string]scenario{
		"an item without its key": {kind: template, steps: []step{
			{write: applyServerSide("ci", false, file(secrets))},
			{write: patch(`"imagePullSecrets":[{},{"name":"b"}]`)},
			{write: patch(`"imagePullSecrets":[{"name":"b"}]`), warnings: changed(`imagePullSecrets[name=""]`, "{}", "<none>")},
		}},
		"items with the same key": {kind: template, steps: []step{
			{write: applyServerSide("ci", false, file(env))},
			{write: patch(`"containers":[{"name":"a","env":` + two + `}]`), warnings: changed(path, one, two)},
			{
				write: applyServerSide("ci", true, file(env)), warnings: taken(path, two, one),
				stored: "{template: {spec: {containers: [{env: [{value: '1'}]}]}}}",
			},
		}},
		"null for an object": {kind: template, steps: []step{
			{write: applyServerSide("ci", false, file("affinity: null"))},
			{write: patch(`"affinity":{}`), warnings: []string{
				"`kubectl patch` changed the resource PodTemplate/p field .template.spec.affinity value from <none> to {}.  This " +
					"field is managed by server-side apply (ci) (last set the field to <none>).  ci removes it again when it applies.",
			}},
			{write: applyServerSide("ci", true, file("affinity: null")), warnings: taken("affinity", "{}", "<none>")},
			{write: patch(`"affinity":{"podAffinity":{}}`)},
			{write: applyServerSide("ci", true, file("affinity: null")), stored: "{template: {spec: {affinity: {podAffinity: {}}}}}"},
		}},
	})
}
