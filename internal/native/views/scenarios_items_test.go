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
		next := "The next apply of ci is refused with a conflict unless it forces."
		if y == "<none>" {
			next = "ci sets it again when it applies."
		}
		return []string{fmt.Sprintf("`kubectl patch` changed the resource PodTemplate/p field .template.spec.%s value from %s to %s.  "+
			"This field is managed by server-side apply (ci) (last set the field to %s).  %s", field, x, y, x, next)}
	}
	taken := func(field, x, y string) []string {
		return []string{strings.Replace(foreignField(".template.spec."+field, x, y, "  Last set by kubectl patch at TIME."),
			"apps/Deployment/web", "PodTemplate/p", 1)}
	}
	const (
		secrets, env = "imagePullSecrets: [{}]", "containers: [{name: a, env: [{name: A, value: '1'}]}]"
		one, two     = `{"name":"A","value":"1"}`, `[{"name":"A","value":"1"},{"name":"A","value":"2"}]`
		three        = `[{"name":"A","value":"1"},{"name":"A","value":"3"}]`
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
		"items with the same key, applied by the client": {kind: template, steps: []step{
			{write: apply(file("containers: [{name: a, env: " + two + "}]"))},
			{
				write: patch(`"containers":[{"name":"a","env":` + three + `}]`),
				warnings: []string{"`kubectl patch` changed the resource PodTemplate/p field .template.spec." + path + ".value value from " +
					"\"2\" to \"3\".  This field is managed by `kubectl apply` (last set the field to \"2\"), and may be overwritten or cleared " +
					"the next time `kubectl apply` is run." + wayOut("podtemplate/p", ".template.spec."+path+".value", `"2"`)},
			},
			{
				write: apply(file("containers: [{name: a, env: " + two + "}]")),
				warnings: []string{"`kubectl apply` is changing the resource PodTemplate/p field .template.spec." + path + " value from " +
					three + " to " + `[{"name":"A","value":"2"},{"name":"A","value":"3"}]` + ".  This field's value does not match the last " +
					"value set by `apply` (" + two + "), and another source may have updated this field.  Last set by kubectl patch at TIME."},
			},
		}},
		"null for an object": {kind: template, steps: []step{
			{write: applyServerSide("ci", false, file("affinity: null"))},
			{write: patch(`"affinity":{}`), warnings: []string{
				"`kubectl patch` changed the resource PodTemplate/p field .template.spec.affinity value from <none> to {}.  This " +
					"field is managed by server-side apply (ci) (last set the field to <none>).  The next apply of ci is refused with a conflict unless it forces.",
			}},
			{write: applyServerSide("ci", true, file("affinity: null")), warnings: taken("affinity", "{}", "<none>")},
			{write: patch(`"affinity":{"podAffinity":{}}`)},
			{write: applyServerSide("ci", true, file("affinity: null")), stored: "{template: {spec: {affinity: {podAffinity: {}}}}}"},
		}},
	})
}
