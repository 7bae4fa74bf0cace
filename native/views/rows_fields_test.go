package views_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/ownership"
)

// What one field is.
func TestFieldRows(t *testing.T) {
	runRows(t, map[string]row{
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
	})
}
