package views_test

import (
	"testing"

	"holdfast.dev/holdfast/ownership"
)

// TestWriterScenarios has scenarios about different clients and owners, and about writes that
// are not checked.
func TestWriterScenarios(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"controllers get no warnings, users do": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{
				write: patchAs(ownership.Request{UserAgent: "autoscaler/v1", User: "system:serviceaccount:kube-system:hpa"}, `{"spec":{"replicas":5}}`),
			},
			{
				write:    apply(web("  replicas: 2", "")),
				warnings: []string{driftedField(".spec.replicas", "5", "2", "2", "  Last set by autoscaler at TIME.")},
			},
			{
				write: patchAs(ownership.Request{
					Command: "kubectl patch", FieldManager: "kubectl-patch", User: "system:serviceaccount:ci:bot",
				}, `{"spec":{"replicas":6}}`),
				warnings: []string{changedByCommand("kubectl patch", ".spec.replicas", "2", "6", "2")},
			},
			{
				write:    patchAs(ownership.Request{UserAgent: "terraform/1.9 (linux)", User: "jane"}, `{"spec":{"replicas":7}}`),
				warnings: []string{changedByCommand("terraform", ".spec.replicas", "6", "7", "2")},
			},
		}},
		"apply without a header": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{write: func(w *simulation) []string {
				return w.apply(ownership.Request{FieldManager: "argocd-controller", User: "jane"}, web("  replicas: 3", ""))
			}},
			{write: scale(5), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "3", "5", "3")}},
			{write: func(w *simulation) []string {
				return w.apply(ownership.Request{FieldManager: "argocd-controller", User: "jane"}, web("  replicas: 4", ""))
			}, warnings: []string{driftedField(".spec.replicas", "5", "4", "3", "  Last set by kubectl scale at TIME.")}},
		}},
		"apply without a header, with list items of other clients": {steps: []step{
			{write: apply(web("  replicas: 2", "        env: [{name: A, value: a}]"))},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"metadata":{"finalizers":["example.dev/wait"]},`+
					`"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}`),
			},
			{write: patchWith("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"}]}`))},
			{write: func(w *simulation) []string {
				return w.apply(
					ownership.Request{FieldManager: "argocd-controller", User: "jane"},
					web("  replicas: 3", "        env: [{name: A, value: z}]"),
				)
			}, stored: `{spec: {replicas: 3}}`},
			{write: func(w *simulation) []string {
				return w.apply(ownership.Request{FieldManager: "argocd-controller", User: "jane"}, web("  replicas: 4", "        env: []"))
			}, stored: `{spec: {replicas: 4}}`},
		}},
		"writes that change only the annotation": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{
				write: patchWith(
					"kubectl apply set-last-applied", "",
					`{"metadata":{"annotations":{"`+ownership.LastApplied+`":"{\"spec\":{\"paused\":true}}"}}}`,
				),
			},
			{write: scale(3)},
			{write: patchWith("kubectl patch", "kubectl-patch", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":"[broken"}}}`)},
			{
				write: scale(4),
				warnings: []string{
					"ownership not checked: the last-applied configuration is malformed: invalid character 'b' looking for beginning of value (apps/Deployment/web)",
				},
			},
			{write: patchWith("kubectl apply edit-last-applied", "", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":"{}"}}}`)},
			{write: scale(5)},
		}},
		"unknown fields": {steps: []step{
			{write: apply(web("  replicas: 2\n  wheels: 4", "")), stored: `{spec: {wheels: null}}`},
			{write: scale(3), warnings: []string{
				`ownership not checked: the last-applied configuration has unknown fields: "spec.wheels" (apps/Deployment/web)`,
				changedByCommand("kubectl scale", ".spec.replicas", "2", "3", "2"),
			}},
		}},
		"an object that is not to be checked": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{write: patchWith("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"holdfast.dev/ownership":"ignore"}}}`)},
			{write: scale(3)},
			{write: edit(`{"spec":{"replicas":4}}`)},
			{write: patchWith("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"holdfast.dev/ownership":null}}}`)},
			{write: scale(5), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "4", "5", "2")}},
		}},
		"owned by server-side apply": {steps: []step{
			{write: applyServerSide("ci", false, web("  replicas: 2", ""))},
			{write: scale(3), warnings: []string{
				"`kubectl scale` changed the resource apps/Deployment/web field .spec.replicas value from 2 to 3.  This " +
					"field is managed by server-side apply (ci) (last set the field to 2).  The next apply of ci is refused with a conflict unless it forces.",
			}},
			{write: scale(4)},
			{write: patchWith("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"}]}`))},
			{write: applyServerSide("ci", false, web("  replicas: 2", "")), rejected: []string{"conflict"}},
			{
				write:    applyServerSide("ci", true, web("  replicas: 2", "")),
				warnings: []string{foreignField(".spec.replicas", "4", "2", "  Last set by kubectl scale at TIME.")},
				stored:   `{spec: {replicas: 2}}`,
			},
			{write: applyServerSide("ci", true, web("  replicas: 3", ""))},
		}},
		"server-side apply takes over a client-side applied field": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{
				write: applyServerSide("ci", true, web("  replicas: 3", "")),
				warnings: []string{"WARNING: `kubectl apply` is changing the resource apps/Deployment/web field .spec.replicas value from 2 to 3.  " +
					"Client-side `kubectl apply` last set this field to 2, and may set it again the next time it is run.  " +
					"Last set by kubectl-client-side-apply at TIME."},
			},
		}},
	})
}
