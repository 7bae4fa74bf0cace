package views_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/ownership"
)

var (
	deployment = appsv1.SchemeGroupVersion.WithKind("Deployment")
	widget     = schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Widget"}
)

// step is one write and what comes of it.
type step struct {
	do operation
	// say are the lines that the writer reads; refused, why nothing was stored.
	say     []string
	refused []string
	// stored is what the object has afterwards; null is what it has not.
	stored string
}

// row is a story of one object.
type row struct {
	kind  schema.GroupVersionKind
	steps []step
}

func runRows(t *testing.T, rows map[string]row) {
	t.Helper()
	lab := newLaboratory(t)
	for name, test := range rows {
		t.Run(name, func(t *testing.T) {
			if test.kind.Empty() {
				test.kind = deployment
			}
			w := lab.world(t, test.kind)
			for i, s := range test.steps {
				said := s.do(w)
				if diff := cmp.Diff(s.say, said); diff != "" {
					t.Errorf("step %d: said (-want +got):\n%s", i+1, diff)
				}
				if diff := cmp.Diff(s.refused, w.refused); diff != "" {
					t.Errorf("step %d: refused (-want +got):\n%s", i+1, diff)
				}
				w.refused = nil
				if s.stored != "" && !containsAll(w.live().Object, parse(t, s.stored)) {
					t.Errorf("step %d: stored %s, want %s", i+1, encode(t, w.live().Object), s.stored)
				}
			}
		})
	}
}

func TestRows(t *testing.T) {
	runRows(t, map[string]row{
		"a required field that the file leaves out": {steps: []step{
			{do: apply(web("", ""))},
			{do: scale(3)},
			{do: edit(`{"spec":{"replicas":4}}`)},
			{do: apply(web("", "")), stored: `{spec: {replicas: 4}}`},
			{
				do:     apply(web("  replicas: 5", "")),
				say:    []string{strong(".spec.replicas", "4", "5", "  Last set by kubectl edit at TIME.")},
				stored: `{spec: {replicas: 5}}`,
			},
			{do: apply(web("  replicas: 5", ""))},
			{do: apply(web("  replicas: 6", "")), stored: `{spec: {replicas: 6}}`},
		}},
		"a required field that the file has": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: scale(3), say: []string{imperative("kubectl scale", ".spec.replicas", "2", "3", "2")}, stored: `{spec: {replicas: 3}}`},
			{do: scale(4), say: []string{imperative("kubectl scale", ".spec.replicas", "3", "4", "2")}},
			{do: run("kubectl patch", "kubectl-patch", `{"spec":{"replicas":5}}`), say: []string{imperative("kubectl patch", ".spec.replicas", "4", "5", "2")}},
			{
				do:     apply(web("  replicas: 2", "")),
				say:    []string{soft(".spec.replicas", "5", "2", "2", "  Last set by kubectl patch at TIME.")},
				stored: `{spec: {replicas: 2}}`,
			},
			{do: apply(web("  replicas: 2", ""))},
		}},
		"edit": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: edit(`{"spec":{"paused":true}}`), stored: `{spec: {paused: true}}`},
			{
				do:      edit(`{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}`),
				refused: []string{refusal("spec.replicas", "2", "3", "2"), refusal(`spec.template.spec.containers[name="web"].image`, `"nginx:1.27"`, `"nginx:2"`, `"nginx:1.27"`)},
				stored:  `{spec: {replicas: 2}}`,
			},
			{do: run("kubectl edit", "force", `{"spec":{"replicas":3}}`), say: []string{imperative("kubectl edit", ".spec.replicas", "2", "3", "2")}, stored: `{spec: {replicas: 3}}`},
			{
				do:  as(ownership.Request{Command: "holdfast edit", FieldManager: "kubectl-edit", User: "jane", Force: true}, `{"spec":{"replicas":4}}`),
				say: []string{imperative("holdfast edit", ".spec.replicas", "3", "4", "2")},
			},
		}},
		"optional fields: cleared by apply in silence, by hand with a warning": {steps: []step{
			{do: apply(web("  minReadySeconds: 5", ""))},
			{
				do:  run("kubectl patch", "kubectl-patch", `{"spec":{"minReadySeconds":null}}`),
				say: []string{imperative("kubectl patch", ".spec.minReadySeconds", "5", "<none>", "5")},
			},
			{do: apply(web("  minReadySeconds: 5", "")), say: []string{soft(".spec.minReadySeconds", "<none>", "5", "5", "  Last set by kubectl patch at TIME.")}},
			{do: apply(web("", "")), stored: `{spec: {minReadySeconds: null}}`},
			{do: apply(web("  minReadySeconds: 7", ""))},
			{do: run("kubectl patch", "kubectl-patch", `{"spec":{"minReadySeconds":8}}`), say: []string{imperative("kubectl patch", ".spec.minReadySeconds", "7", "8", "7")}},
			{do: apply(web("  minReadySeconds: null", "")), stored: `{spec: {minReadySeconds: null}}`},
		}},
		"set against edit": {steps: []step{
			{do: apply(web("", ""))},
			{do: run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"}]}`))},
			{do: edit(container(`{"name":"web","env":[{"name":"B","value":"c"}]}`))},
			{do: run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"d"}]}`))},
		}},
		"quantities in another form": {steps: []step{
			{do: apply(web("", "        resources: {requests: {cpu: 1000m}}")), stored: `{spec: {template: {spec: {containers: [{resources: {requests: {cpu: "1"}}}]}}}}`},
			{do: apply(web("", "        resources: {requests: {cpu: 1000m}}"))},
			{do: apply(web("", "        resources: {requests: {cpu: 2000m}}"))},
			{
				do:  run("kubectl set resources", "kubectl-set", container(`{"name":"web","resources":{"requests":{"cpu":"3"}}}`)),
				say: []string{imperative("kubectl set resources", `.spec.template.spec.containers[name="web"].resources.requests.cpu`, `"2"`, `"3"`, `"2"`)},
			},
		}},
		"labels and annotations": {steps: []step{
			{do: apply(web("", ""))},
			{do: run("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"note":"mine"}}}`)},
			{do: run("kubectl label", "kubectl-label", `{"metadata":{"labels":{"free":"yes"}}}`)},
			{
				do:  run("kubectl label", "kubectl-label", `{"metadata":{"labels":{"team":"blue"}}}`),
				say: []string{imperative("kubectl label", ".metadata.labels.team", `"red"`, `"blue"`, `"red"`)},
			},
			{do: run("kubectl rollout restart", "kubectl-rollout", `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)},
			{
				do:  run("kubectl rollout undo", "", container(`{"name":"web","image":"nginx:1.26"}`)),
				say: []string{imperative("kubectl rollout undo", image, `"nginx:1.27"`, `"nginx:1.26"`, `"nginx:1.27"`)},
			},
		}},
		"replace": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: replace(web("  replicas: 2", ""))},
			{
				do:  replace(web("  replicas: 3", "")),
				say: []string{"apps/Deployment/web is managed with kubectl apply; its last-applied configuration was set to the replacement."},
			},
			{do: scale(4), say: []string{imperative("kubectl scale", ".spec.replicas", "3", "4", "3")}},
		}},
		"kubectl diff is apply": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: scale(3), say: []string{imperative("kubectl scale", ".spec.replicas", "2", "3", "2")}},
			{do: func(w *world) []string {
				return w.apply(ownership.Request{Command: "kubectl diff", FieldManager: "kubectl-client-side-apply", User: "jane"}, web("  replicas: 2", ""))
			}, say: []string{soft(".spec.replicas", "3", "2", "2", "  Last set by kubectl scale at TIME.")}},
		}},
		"an object that was not applied": {steps: []step{
			{do: create(web("  replicas: 2", ""))},
			{do: scale(3)},
			{do: replace(web("  replicas: 4", "")), stored: `{metadata: {annotations: null}}`},
			{
				do: apply(web("  replicas: 5", "        args: [-q]")),
				say: []string{
					strong(".spec.replicas", "4", "5", "  Last set by kubectl replace at TIME."),
				},
			},
			{do: apply(web("  replicas: 6", "        args: [-q]"))},
		}},
	})
}
