package views_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/ownership"
)

// TestFieldScenarios has scenarios about what counts as one field.
func TestFieldScenarios(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"items of a list by their key": {steps: []step{
			{write: apply(web("", ""))},
			{write: edit(container(`{"name":"side","image":"side:1"}`))},
			{
				write:  apply(web("  minReadySeconds: 1", "")),
				stored: `{spec: {template: {spec: {containers: [{name: side, image: "side:1"}, {name: web}]}}}}`,
			},
			{write: edit(container(`{"name":"web","args":["-v"]}`))},
			{
				write:  apply(web("  minReadySeconds: 2", "")),
				stored: `{spec: {template: {spec: {containers: [{name: side}, {name: web, args: ["-v"]}]}}}}`,
			},
			{
				write: apply(web("", "        args: [-q]")),
				warnings: []string{
					foreignField(`.spec.template.spec.containers[name="web"].args`, `["-v"]`, `["-q"]`, "  Last set by kubectl edit at TIME."),
				},
			},
			{
				write: patchWith("kubectl patch", "kubectl-patch", container(`{"name":"web","args":["-x","-y"]}`)),
				warnings: []string{
					changedByCommand("kubectl patch", `.spec.template.spec.containers[name="web"].args`, `["-q"]`, `["-x","-y"]`, `["-q"]`),
				},
			},
			{
				write:  patchWith("kubectl patch", "kubectl-patch", container(`{"name":"side","$patch":"delete"}`)),
				stored: `{spec: {template: {spec: {containers: [{name: web}]}}}}`,
			},
		}},
		"an applied item that another command deletes": {steps: []step{
			{write: apply(web("", "      - {name: side, image: \"side:1\"}"))},
			{
				write: patchWith("kubectl patch", "kubectl-patch", container(`{"name":"side","$patch":"delete"}`)),
				warnings: []string{"`kubectl patch` changed the resource apps/Deployment/web field " + side + " value from " +
					`{"image":"side:1","imagePullPolicy":"IfNotPresent","name":"side"… to <none>.  ` +
					"This field is managed by `kubectl apply` (last set the field to " + `{"image":"side:1","name":"side"}), ` +
					"and may be overwritten or cleared the next time `kubectl apply` is run." +
					wayOut("deployment.apps/web", side, "the value in the file")},
			},
			{
				write: apply(web("", "      - {name: side, image: \"side:1\"}")),
				warnings: []string{driftedField(side, "<none>",
					`{"image":"side:1","imagePullPolicy":"IfNotPresent","name":"side"…`, `{"image":"side:1","name":"side"}`,
					"  Last set by kubectl patch at TIME.")},
			},
			{write: apply(web("", ""))},
		}},
		"an item of another command that apply also sets": {steps: []step{
			{write: apply(web("", "        env: [{name: A, value: a}]"))},
			{
				write: patchWith("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"B",`+
					`"value":"b"},{"name":"C","value":"c"}]}`)),
			},
			{
				write:    apply(web("", "        env: [{name: A, value: a}, {name: B, value: b}]")),
				warnings: []string{takesOver(env+`[name="B"]`, "  Last set by kubectl set env at TIME.")},
				stored:   `{spec: {template: {spec: {containers: [{env: [{name: C}, {name: A}, {name: B}]}]}}}}`,
			},
			{write: apply(web("", "        env: [{name: A, value: a}, {name: B, value: b}]"))},
			{
				write:    apply(web("", "        env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: d}]")),
				warnings: []string{foreignField(env+`[name="C"].value`, `"c"`, `"d"`, "  Last set by kubectl set env at TIME.")},
			},
			{
				write:    patchWith("kubectl set env", "kubectl-set", container(`{"name":"web","env":[{"name":"A","value":"z"}]}`)),
				warnings: []string{changedByCommand("kubectl set env", env+`[name="A"].value`, `"a"`, `"z"`, `"a"`)},
			},
		}},
		"nodeSelector merges by key": {steps: []step{
			{write: apply(web("", ""))},
			{write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"template":{"spec":{"nodeSelector":{"zone":"a"}}}}}`)},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"template":{"spec":{"nodeSelector":{"disk":"hdd"}}}}}`),
				warnings: []string{changedByCommand("kubectl patch", ".spec.template.spec.nodeSelector.disk", `"ssd"`, `"hdd"`, `"ssd"`)},
			},
		}},
		"ports without a protocol": {steps: []step{
			{write: apply(web("", "        ports: [{containerPort: 80, name: http}]"))},
			{write: patchWith("kubectl patch", "kubectl-patch", container(`{"name":"web","ports":[{"containerPort":81,"name":"more"}]}`))},
			{
				write: patchWith("kubectl patch", "kubectl-patch", container(`{"name":"web","ports":[{"containerPort":80,"name":"www"}]}`)),
				warnings: []string{
					changedByCommand("kubectl patch", `.spec.template.spec.containers[name="web"].ports[containerPort=80].name`,
						`"http"`, `"www"`, `"http"`),
				},
			},
			{
				write: apply(web("", "        ports: [{containerPort: 80, name: http}]")),
				warnings: []string{driftedField(`.spec.template.spec.containers[name="web"].ports[containerPort=80].name`, `"www"`, `"http"`, `"http"`,
					"  Last set by kubectl patch at TIME.")},
			},
		}},
		"custom resources: a list is one value for client-side apply": {kind: widget, steps: []step{
			{write: apply("{apiVersion: example.dev/v1, kind: Widget, metadata: {name: w}, spec: {parts: [{name: a, color: red}]}}")},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"size":1,"parts":[{"name":"a",`+
					`"color":"red"},{"name":"b","color":"blue"}]}}`),
				warnings: []string{"`kubectl patch` changed the resource example.dev/Widget/w field .spec.parts value from " +
					"[{\"color\":\"red\",\"name\":\"a\"}] to [{\"color\":\"red\",\"name\":\"a\"},{\"color\":\"blue\",\"name\":\"b\"}].  " +
					"This field is managed by `kubectl apply` (last set the field to [{\"color\":\"red\",\"name\":\"a\"}]), " +
					"and may be overwritten or cleared the next time `kubectl apply` is run." +
					wayOut("Widget.example.dev/w", ".spec.parts", `[{"color":"red","name":"a"}]`)},
			},
		}},
		"custom resources: server-side apply manages list items": {kind: widget, steps: []step{
			{
				write: applyServerSide("ci", false, "{apiVersion: example.dev/v1, kind: Widget, metadata: {name: w}, "+
					"spec: {parts: [{name: a, color: red}]}}"),
			},
			{write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"parts":[{"name":"a","color":"red"},{"name":"b","color":"blue"}]}}`)},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"parts":[{"name":"b","color":"blue"}]}}`),
				warnings: []string{"`kubectl patch` changed the resource example.dev/Widget/w field " +
					".spec.parts[name=\"a\"] value from {\"color\":\"red\",\"name\":\"a\"} to <none>.  " +
					"This field is managed by server-side apply (ci) (last set the field to " +
					"{\"color\":\"red\",\"name\":\"a\"}).  ci sets it again when it applies."},
			},
		}},
		"secrets are not shown, and stringData is data": {kind: corev1.SchemeGroupVersion.WithKind("Secret"), steps: []step{
			{write: apply("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: aGVsbG8=}}")},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"data":{"a":"aGVsbG8y"}}`),
				warnings: []string{
					"`kubectl patch` changed the resource Secret/s field .data.a value from <redacted> to <redacted>.  This " +
						"field is managed by `kubectl apply` (last set the field to <redacted>), " +
						"and may be overwritten or cleared the next time `kubectl apply` is run." + wayOut("secret/s", ".data.a", "<redacted>"),
				},
			},
			{
				write: patchWith("kubectl apply set-last-applied", "", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":`+
					`"{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"stringData\":{\"b\":\"x\"}}"}}}`),
			},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"data":{"b":"eQ=="}}`),
				warnings: []string{
					"`kubectl patch` changed the resource Secret/s field .data.b value from <none> to <redacted>.  This " +
						"field is managed by `kubectl apply` (last set the field to <redacted>), " +
						"and may be overwritten or cleared the next time `kubectl apply` is run." + wayOut("secret/s", ".data.b", "<redacted>"),
				},
			},
		}},
	})
}
