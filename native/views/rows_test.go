package views_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

// web is a Deployment; args are lines of its spec and its container.
func web(spec, container string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: red}}
spec:
%s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: ssd}
      containers:
      - name: web
        image: nginx:1.27
%s`, spec, container)
}

const undo = "  To undo: `kubectl apply` the file again, or set the field back to %s."

// imperative, soft and strong are the lines of the specification.
func imperative(command, field string, x, y, z string) string {
	return fmt.Sprintf("`%s` changed the resource apps/Deployment/web field %s value from %s to %s.  This field is managed by `kubectl apply` (last set the field to %s), and may be overwritten or cleared the next time `kubectl apply` is run."+undo,
		command, field, x, y, z, x)
}

func soft(field, x, y, z, last string) string {
	return fmt.Sprintf("`kubectl apply` is changing the resource apps/Deployment/web field %s value from %s to %s.  This field's value does not match the last value set by `apply` (%s), and another source may have updated this field.%s",
		field, x, y, z, last)
}

func strong(field, x, y, last string) string {
	return fmt.Sprintf("WARNING: `kubectl apply` is changing the resource apps/Deployment/web field %s value from %s to %s.  This field's value does not appear in the last configuration applied, was previously set by another source.  This field may have been set by a controller outside of apply.%s",
		field, x, y, last)
}

func takesOver(field, last string) string {
	return fmt.Sprintf("WARNING: `kubectl apply` takes over apps/Deployment/web field %s.  This field's value does not appear in the last configuration applied, was previously set by another source.  This field may have been set by a controller outside of apply.%s",
		field, last)
}

func refusal(field, x, y, z string) string {
	return fmt.Sprintf("%s: managed by `kubectl apply` (last set the field to %s), and the edit changes it from %s to %s: change it in the file and apply that, or force the edit with `holdfast edit --force` or `kubectl edit --field-manager=force`",
		field, z, x, y)
}

const (
	image = `.spec.template.spec.containers[name="web"].image`
	env   = `.spec.template.spec.containers[name="web"].env`
)

func container(lines string) string {
	return `{"spec":{"template":{"spec":{"containers":[` + lines + `]}}}}`
}

func TestRows(t *testing.T) {
	lab := newLaboratory(t)
	scale := func(n int) operation { return run("kubectl scale", "", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)) }
	tests := map[string]struct {
		kind  schema.GroupVersionKind
		steps []step
	}{
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
		"items of a list by their key": {steps: []step{
			{do: apply(web("", ""))},
			{do: edit(container(`{"name":"side","image":"side:1"}`))},
			{do: apply(web("  minReadySeconds: 1", "")), stored: `{spec: {template: {spec: {containers: [{name: side, image: "side:1"}, {name: web}]}}}}`},
			{do: edit(container(`{"name":"web","args":["-v"]}`))},
			{do: apply(web("  minReadySeconds: 2", "")), stored: `{spec: {template: {spec: {containers: [{name: side}, {name: web, args: ["-v"]}]}}}}`},
			{
				do:  apply(web("", "        args: [-q]")),
				say: []string{strong(`.spec.template.spec.containers[name="web"].args`, `["-v"]`, `["-q"]`, "  Last set by kubectl edit at TIME.")},
			},
			{
				do:  run("kubectl patch", "kubectl-patch", container(`{"name":"web","args":["-x","-y"]}`)),
				say: []string{imperative("kubectl patch", `.spec.template.spec.containers[name="web"].args`, `["-q"]`, `["-x","-y"]`, `["-q"]`)},
			},
			{do: run("kubectl patch", "kubectl-patch", container(`{"name":"side","$patch":"delete"}`)), stored: `{spec: {template: {spec: {containers: [{name: web}]}}}}`},
		}},
		"an item of apply that is deleted by hand": {steps: []step{
			{do: apply(web("", "      - {name: side, image: \"side:1\"}"))},
			{
				do: run("kubectl patch", "kubectl-patch", container(`{"name":"side","$patch":"delete"}`)),
				say: []string{imperative("kubectl patch", `.spec.template.spec.containers[name="side"]`,
					`{"image":"side:1","imagePullPolicy":"IfNotPresent","name":"side"…`, "<none>", `{"image":"side:1","name":"side","resources":{}}`)},
			},
			{
				do: apply(web("", "      - {name: side, image: \"side:1\"}")),
				say: []string{soft(`.spec.template.spec.containers[name="side"]`, "<none>",
					`{"image":"side:1","imagePullPolicy":"IfNotPresent","name":"side"…`, `{"image":"side:1","name":"side","resources":{}}`, "  Last set by kubectl patch at TIME.")},
			},
			{do: apply(web("", ""))},
		}},
		"an item made by hand that apply wants too": {steps: []step{
			{do: apply(web("", "        env: [{name: A, value: a}]"))},
			{do: run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"},{"name":"C","value":"c"}]}`))},
			{
				do:     apply(web("", "        env: [{name: A, value: a}, {name: B, value: b}]")),
				say:    []string{takesOver(env+`[name="B"]`, "  Last set by kubectl set env at TIME.")},
				stored: `{spec: {template: {spec: {containers: [{env: [{name: C}, {name: A}, {name: B}]}]}}}}`,
			},
			{do: apply(web("", "        env: [{name: A, value: a}, {name: B, value: b}]"))},
			{
				do:  apply(web("", "        env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: d}]")),
				say: []string{strong(env+`[name="C"].value`, `"c"`, `"d"`, "  Last set by kubectl set env at TIME.")},
			},
			{
				do:  run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"A","value":"z"}]}`)),
				say: []string{imperative("kubectl set env", env+`[name="A"].value`, `"a"`, `"z"`, `"a"`)},
			},
		}},
		"set against edit": {steps: []step{
			{do: apply(web("", ""))},
			{do: run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"b"}]}`))},
			{do: edit(container(`{"name":"web","env":[{"name":"B","value":"c"}]}`))},
			{do: run("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B","value":"d"}]}`))},
		}},
		"nodeSelector merges by key": {steps: []step{
			{do: apply(web("", ""))},
			{do: run("kubectl patch", "kubectl-patch", `{"spec":{"template":{"spec":{"nodeSelector":{"zone":"a"}}}}}`)},
			{do: run("kubectl patch", "kubectl-patch", `{"spec":{"template":{"spec":{"nodeSelector":{"disk":"hdd"}}}}}`), say: []string{
				imperative("kubectl patch", ".spec.template.spec.nodeSelector.disk", `"ssd"`, `"hdd"`, `"ssd"`),
			}},
		}},
		"ports without a protocol": {steps: []step{
			{do: apply(web("", "        ports: [{containerPort: 80, name: http}]"))},
			{do: run("kubectl patch", "kubectl-patch", container(`{"name":"web","ports":[{"containerPort":81,"name":"more"}]}`))},
			{
				do:  run("kubectl patch", "kubectl-patch", container(`{"name":"web","ports":[{"containerPort":80,"name":"www"}]}`)),
				say: []string{imperative("kubectl patch", `.spec.template.spec.containers[name="web"].ports[containerPort=80].name`, `"http"`, `"www"`, `"http"`)},
			},
			{
				do: apply(web("", "        ports: [{containerPort: 80, name: http}]")),
				say: []string{soft(`.spec.template.spec.containers[name="web"].ports[containerPort=80].name`, `"www"`, `"http"`, `"http"`,
					"  Last set by kubectl patch at TIME.")},
			},
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
		"replace": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: replace(web("  replicas: 2", ""))},
			{
				do:  replace(web("  replicas: 3", "")),
				say: []string{"apps/Deployment/web is managed with kubectl apply; its last-applied configuration was set to the replacement."},
			},
			{do: scale(4), say: []string{imperative("kubectl scale", ".spec.replicas", "3", "4", "3")}},
		}},
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
		"kubectl diff is apply": {steps: []step{
			{do: apply(web("  replicas: 2", ""))},
			{do: scale(3), say: []string{imperative("kubectl scale", ".spec.replicas", "2", "3", "2")}},
			{do: func(w *world) []string {
				return w.apply(ownership.Request{Command: "kubectl diff", FieldManager: "kubectl-client-side-apply", User: "jane"}, web("  replicas: 2", ""))
			}, say: []string{soft(".spec.replicas", "3", "2", "2", "  Last set by kubectl scale at TIME.")}},
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
		"custom resources: a list is one value for client-side apply": {kind: widget, steps: []step{
			{do: apply("{apiVersion: example.dev/v1, kind: Widget, metadata: {name: w}, spec: {parts: [{name: a, color: red}]}}")},
			{
				do: run("kubectl patch", "kubectl-patch", `{"spec":{"size":1,"parts":[{"name":"a","color":"red"},{"name":"b","color":"blue"}]}}`),
				say: []string{"`kubectl patch` changed the resource example.dev/Widget/w field .spec.parts value from [{\"color\":\"red\",\"name\":\"a\"}] to [{\"color\":\"red\",\"name\":\"a\"},{\"color\":\"blue\",\"name\":\"b\"}].  " +
					"This field is managed by `kubectl apply` (last set the field to [{\"color\":\"red\",\"name\":\"a\"}]), and may be overwritten or cleared the next time `kubectl apply` is run." + fmt.Sprintf(undo, `[{"color":"red","name":"a"}]`)},
			},
		}},
		"custom resources: server-side apply knows their items": {kind: widget, steps: []step{
			{do: applyServerSide("ci", false, "{apiVersion: example.dev/v1, kind: Widget, metadata: {name: w}, spec: {parts: [{name: a, color: red}]}}")},
			{do: run("kubectl patch", "kubectl-patch", `{"spec":{"parts":[{"name":"a","color":"red"},{"name":"b","color":"blue"}]}}`)},
			{
				do: run("kubectl patch", "kubectl-patch", `{"spec":{"parts":[{"name":"b","color":"blue"}]}}`),
				say: []string{"`kubectl patch` changed the resource example.dev/Widget/w field .spec.parts[name=\"a\"] value from {\"color\":\"red\",\"name\":\"a\"} to <none>.  " +
					"This field is managed by server-side apply (ci) (last set the field to {\"color\":\"red\",\"name\":\"a\"}), and may be overwritten or cleared the next time `kubectl apply` is run." + fmt.Sprintf(undo, `{"color":"red","name":"a"}`)},
			},
		}},
		"secrets are not shown, and stringData is data": {kind: corev1.SchemeGroupVersion.WithKind("Secret"), steps: []step{
			{do: apply("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: aGVsbG8=}}")},
			{
				do:  run("kubectl patch", "kubectl-patch", `{"data":{"a":"aGVsbG8y"}}`),
				say: []string{"`kubectl patch` changed the resource Secret/s field .data.a value from <redacted> to <redacted>.  This field is managed by `kubectl apply` (last set the field to <redacted>), and may be overwritten or cleared the next time `kubectl apply` is run." + fmt.Sprintf(undo, "<redacted>")},
			},
			{do: run("kubectl apply set-last-applied", "", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":"{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"stringData\":{\"b\":\"x\"}}"}}}`)},
			{
				do:  run("kubectl patch", "kubectl-patch", `{"data":{"b":"eQ=="}}`),
				say: []string{"`kubectl patch` changed the resource Secret/s field .data.b value from <none> to <redacted>.  This field is managed by `kubectl apply` (last set the field to <redacted>), and may be overwritten or cleared the next time `kubectl apply` is run." + fmt.Sprintf(undo, "<none>")},
			},
		}},
	}
	for name, test := range tests {
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
