package views_test

import (
	"fmt"
	"testing"

	"holdfast.dev/holdfast/ownership"
)

// Who writes, who owns, and what is not judged.
func TestWriterRows(t *testing.T) {
	runRows(t, map[string]row{
		"who is a controller": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: as(ownership.Request{UserAgent: "autoscaler/v1", User: "system:serviceaccount:kube-system:hpa"}, `{"spec":{"replicas":5}}`)},
			{do: apply(web("  replicas: 2", "")), say: []string{soft(".spec.replicas", "5", "2", "2", "  Last set by autoscaler at TIME.")}},
			{
				do:  as(ownership.Request{Command: "kubectl patch", FieldManager: "kubectl-patch", User: "system:serviceaccount:ci:bot"}, `{"spec":{"replicas":6}}`),
				say: []string{imperative("kubectl patch", ".spec.replicas", "2", "6", "2")},
			},
			{
				do:  as(ownership.Request{UserAgent: "terraform/1.9 (linux)", User: "jane"}, `{"spec":{"replicas":7}}`),
				say: []string{imperative("terraform", ".spec.replicas", "6", "7", "2")},
			},
		}},
		"apply without a header": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: func(w *world) []string {
				return w.apply(ownership.Request{FieldManager: "argocd-controller", User: "jane"}, web("  replicas: 3", ""))
			}},
			{do: scale(5), say: []string{imperative("kubectl scale", ".spec.replicas", "3", "5", "3")}},
			{do: func(w *world) []string {
				return w.apply(ownership.Request{FieldManager: "argocd-controller", User: "jane"}, web("  replicas: 4", ""))
			}, say: []string{soft(".spec.replicas", "5", "4", "3", "  Last set by kubectl scale at TIME.")}},
		}},
		"apply without a header beside what others put into its lists": {steps: []step{
			{do: apply(web("  replicas: 2", "        env: [{name: A, value: a}]"))},
			{do: run("kubectl patch", "kubectl-patch", `{"metadata":{"finalizers":["example.dev/wait"]},"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}`)},
			{do: run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"}]}`))},
			{do: func(w *world) []string {
				return w.apply(ownership.Request{FieldManager: "argocd-controller", User: "jane"}, web("  replicas: 3", "        env: [{name: A, value: z}]"))
			}, stored: `{spec: {replicas: 3}}`},
			{do: func(w *world) []string {
				return w.apply(ownership.Request{FieldManager: "argocd-controller", User: "jane"}, web("  replicas: 4", "        env: []"))
			}, stored: `{spec: {replicas: 4}}`},
		}},
		"writes to the annotation alone": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: run("kubectl apply set-last-applied", "", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":"{\"spec\":{\"paused\":true}}"}}}`)},
			{do: scale(3)},
			{do: run("kubectl patch", "kubectl-patch", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":"[broken"}}}`)},
			{do: scale(4), say: []string{"ownership not checked: the last-applied configuration is malformed: invalid character 'b' looking for beginning of value"}},
			{do: run("kubectl apply edit-last-applied", "", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":"{}"}}}`)},
			{do: scale(5)},
		}},
		"unknown fields": {steps: []step{
			{do: apply(web("  replicas: 2\n  wheels: 4", "")), stored: `{spec: {wheels: null}}`},
			{do: scale(3), say: []string{
				`ownership not checked: the last-applied configuration has unknown fields: "spec.wheels"`,
				imperative("kubectl scale", ".spec.replicas", "2", "3", "2"),
			}},
		}},
		"an object that is not to be judged": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: run("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"holdfast.dev/ownership":"ignore"}}}`)},
			{do: scale(3)},
			{do: edit(`{"spec":{"replicas":4}}`)},
			{do: run("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"holdfast.dev/ownership":null}}}`)},
			{do: scale(5), say: []string{imperative("kubectl scale", ".spec.replicas", "4", "5", "2")}},
		}},
		"owned by server-side apply": {steps: []step{
			{do: applyServerSide("ci", false, web("  replicas: 2", ""))},
			{do: scale(3), say: []string{
				"`kubectl scale` changed the resource apps/Deployment/web field .spec.replicas value from 2 to 3.  This field is managed by server-side apply (ci) (last set the field to 2), and may be overwritten or cleared the next time `kubectl apply` is run." + fmt.Sprintf(undo, "2"),
			}},
			{do: scale(4)},
			{do: run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"}]}`))},
			{do: applyServerSide("ci", false, web("  replicas: 2", "")), refused: []string{"conflict"}},
			{
				do:     applyServerSide("ci", true, web("  replicas: 2", "")),
				say:    []string{strong(".spec.replicas", "4", "2", "  Last set by kubectl scale at TIME.")},
				stored: `{spec: {replicas: 2}}`,
			},
			{do: applyServerSide("ci", true, web("  replicas: 3", ""))},
		}},
		"server-side apply takes from last-applied": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: applyServerSide("ci", true, web("  replicas: 3", "")), say: []string{strong(".spec.replicas", "2", "3", "  Last set by kubectl-client-side-apply at TIME.")}},
		}},
	})
}
