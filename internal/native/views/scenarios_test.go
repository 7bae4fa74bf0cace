package views_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

var (
	deployment = appsv1.SchemeGroupVersion.WithKind("Deployment")
	widget     = schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Widget"}
)

// step is one write and its result.
type step struct {
	write operation
	// warnings are the warnings for the client.
	warnings []string
	// rejected has the reasons why the write was rejected; empty if it was stored.
	rejected []string
	// stored, unless it is empty, has fields of the object after the write. Null means that
	// the object must not have the field.
	stored string
}

// scenario is a sequence of writes to one object.
type scenario struct {
	kind  schema.GroupVersionKind
	steps []step
}

func runScenarios(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	fixtures := newFixtures(t)
	for name, test := range scenarios {
		t.Run(name, func(t *testing.T) {
			if test.kind.Empty() {
				test.kind = deployment
			}
			w := fixtures.newSimulation(t, test.kind)
			for i, s := range test.steps {
				if diff := cmp.Diff(s.warnings, s.write(w)); diff != "" {
					t.Errorf("step %d: warnings (-want +got):\n%s", i+1, diff)
				}
				if diff := cmp.Diff(s.rejected, w.rejected); diff != "" {
					t.Errorf("step %d: rejected (-want +got):\n%s", i+1, diff)
				}
				w.rejected = nil
				if s.stored != "" && !containsAll(w.live().Object, yamltest.Map(t, s.stored)) {
					t.Errorf("step %d: stored %s, want %s", i+1, encode(t, w.live().Object), s.stored)
				}
			}
		})
	}
}

func TestScenarios(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"a field with a default that the file does not set": {steps: []step{
			{write: apply(web("", ""))},
			{write: scale(3)},
			{write: edit(`{"spec":{"replicas":4}}`)},
			{write: apply(web("", "")), stored: `{spec: {replicas: 4}}`},
			{
				write:    apply(web("  replicas: 5", "")),
				warnings: []string{foreignField(".spec.replicas", "4", "5", "  Last set by kubectl edit at TIME.")},
				stored:   `{spec: {replicas: 5}}`,
			},
			{write: apply(web("  replicas: 5", ""))},
			{write: apply(web("  replicas: 6", "")), stored: `{spec: {replicas: 6}}`},
		}},
		"a field with a default that the file sets": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{
				write: scale(3), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "2", "3", "2")},
				stored: `{spec: {replicas: 3}}`,
			},
			{write: scale(4), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "3", "4", "2")}},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"replicas":5}}`),
				warnings: []string{changedByCommand("kubectl patch", ".spec.replicas", "4", "5", "2")},
			},
			{
				write:    apply(web("  replicas: 2", "")),
				warnings: []string{driftedField(".spec.replicas", "5", "2", "2", "  Last set by kubectl patch at TIME.")},
				stored:   `{spec: {replicas: 2}}`,
			},
			{write: apply(web("  replicas: 2", ""))},
		}},
		"edit": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{write: edit(`{"spec":{"paused":true}}`), stored: `{spec: {paused: true}}`},
			{
				write: edit(`{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}`),
				rejected: []string{
					rejectedEdit("spec.replicas", "2", "3", "2"),
					rejectedEdit(`spec.template.spec.containers[name="web"].image`, `"nginx:1.27"`, `"nginx:2"`, `"nginx:1.27"`),
				},
				stored: `{spec: {replicas: 2}}`,
			},
			{
				write:    patchWith("kubectl edit", "force", `{"spec":{"replicas":3}}`),
				warnings: []string{changedByCommand("kubectl edit", ".spec.replicas", "2", "3", "2")},
				stored:   `{spec: {replicas: 3}}`,
			},
			{
				write: patchAs(ownership.Request{
					Command: "holdfast edit", FieldManager: "kubectl-edit", User: "jane", Force: true,
				}, `{"spec":{"replicas":4}}`),
				warnings: []string{changedByCommand("holdfast edit", ".spec.replicas", "3", "4", "2")},
			},
		}},
		"optional fields: a warning if another command clears them, none for apply": {steps: []step{
			{write: apply(web("  minReadySeconds: 5", ""))},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"minReadySeconds":null}}`),
				warnings: []string{changedByCommand("kubectl patch", ".spec.minReadySeconds", "5", "<none>", "5")},
			},
			{
				write:    apply(web("  minReadySeconds: 5", "")),
				warnings: []string{driftedField(".spec.minReadySeconds", "<none>", "5", "5", "  Last set by kubectl patch at TIME.")},
			},
			{write: apply(web("", "")), stored: `{spec: {minReadySeconds: null}}`},
			{write: apply(web("  minReadySeconds: 7", ""))},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"minReadySeconds":8}}`),
				warnings: []string{changedByCommand("kubectl patch", ".spec.minReadySeconds", "7", "8", "7")},
			},
			{write: apply(web("  minReadySeconds: null", "")), stored: `{spec: {minReadySeconds: null}}`},
		}},
		"fields that no apply manages": {steps: []step{
			{write: apply(web("", ""))},
			{write: patchWith("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"}]}`))},
			{write: edit(container(`{"name":"web","env":[{"name":"B","value":"c"}]}`))},
			{write: patchWith("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"d"}]}`))},
		}},
		"quantities in another form": {steps: []step{
			{
				write:  apply(web("", "        resources: {requests: {cpu: 1000m}}")),
				stored: `{spec: {template: {spec: {containers: [{resources: {requests: {cpu: "1"}}}]}}}}`,
			},
			{write: apply(web("", "        resources: {requests: {cpu: 1000m}}"))},
			{write: apply(web("", "        resources: {requests: {cpu: 2000m}}"))},
			{
				write: patchWith("kubectl set resources", "kubectl-set", container(`{"name":"web","resources":{"requests":{"cpu":"3"}}}`)),
				warnings: []string{
					changedByCommand("kubectl set resources", `.spec.template.spec.containers[name="web"].resources.requests.cpu`, `"2"`, `"3"`, `"2"`),
				},
			},
		}},
		"labels and annotations": {steps: []step{
			{write: apply(web("", ""))},
			{write: patchWith("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"note":"mine"}}}`)},
			{write: patchWith("kubectl label", "kubectl-label", `{"metadata":{"labels":{"free":"yes"}}}`)},
			{
				write:    patchWith("kubectl label", "kubectl-label", `{"metadata":{"labels":{"team":"blue"}}}`),
				warnings: []string{changedByCommand("kubectl label", ".metadata.labels.team", `"red"`, `"blue"`, `"red"`)},
			},
			{
				write: patchWith("kubectl rollout restart", "kubectl-rollout",
					`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`),
			},
			{
				write:    patchWith("kubectl rollout undo", "", container(`{"name":"web","image":"nginx:1.26"}`)),
				warnings: []string{changedByCommand("kubectl rollout undo", image, `"nginx:1.27"`, `"nginx:1.26"`, `"nginx:1.27"`)},
			},
		}},
		"replace": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{write: replace(web("  replicas: 2", ""))},
			{
				write:    replace(web("  replicas: 3", "")),
				warnings: []string{"apps/Deployment/web is managed with kubectl apply; its last-applied configuration was set to the replacement."},
			},
			{write: scale(4), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "3", "4", "3")}},
		}},
		"kubectl diff is treated like apply": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{write: scale(3), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "2", "3", "2")}},
			{write: func(w *simulation) []string {
				return w.apply(ownership.Request{
					Command: "kubectl diff", FieldManager: "kubectl-client-side-apply", User: "jane",
				}, web("  replicas: 2", ""))
			}, warnings: []string{driftedField(".spec.replicas", "3", "2", "2", "  Last set by kubectl scale at TIME.")}},
		}},
		"an object that was created without apply": {steps: []step{
			{write: create(web("  replicas: 2", ""))},
			{write: scale(3)},
			{write: replace(web("  replicas: 4", "")), stored: `{metadata: {annotations: null}}`},
			{
				write: apply(web("  replicas: 5", "        args: [-q]")),
				warnings: []string{
					foreignField(".spec.replicas", "4", "5", "  Last set by kubectl replace at TIME."),
				},
			},
			{write: apply(web("  replicas: 6", "        args: [-q]"))},
		}},
	})
}
