package disclosure_test

import (
	"fmt"
	"strings"
)

// message is a write and its answer for each user.
type message struct {
	call
	// shown is the answer for reader, hidden for writer, ofScale for scaleReader; an empty
	// one is not asked for. In it, "…" stands for any text.
	shown, hidden, ofScale string
	// authors says that the author of a rule chose to show values to all clients.
	authors bool
}

// messages returns the writes of the table. None of them changes a stored object: they are
// refused, or dry runs.
func messages() map[string]message {
	const (
		things      = "/apis/disclosure.example.com/v1/namespaces/default/things/o"
		deployments = "/apis/apps/v1/namespaces/default/deployments/web"
		configMaps  = "/api/v1/namespaces/default/configmaps/"
		marked      = `400 Thing.disclosure.example.com "o" cannot be changed this way: `
		invalid     = `422 Thing.disclosure.example.com "o" is invalid: `
		put         = `{apiVersion: disclosure.example.com/v1, kind: Thing, metadata: {name: o, resourceVersion: "VERSION"}, spec: {size: new}}`
		instance    = `422 Instance.kudo.dev "tok" is invalid: spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was `
	)
	return map[string]message{
		"a patch that is no object": {
			call:   call{"MERGE", configMaps + "settings", "", `{data: {b: 5}}`},
			shown:  `422  "" is invalid: patch: Invalid value: …stored-live…: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
			hidden: `422  "" is invalid: patch: Invalid value: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
		},
		"a patch that is no custom resource": {
			call:   call{"MERGE", things, "", `{metadata: {labels: 5}}`},
			shown:  `422  "" is invalid: patch: Invalid value: …stored…: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string`,
			hidden: `422  "" is invalid: patch: Invalid value: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string`,
		},
		"marker, put": {
			call: call{"PUT", things, "", put},
			shown: marked + `spec.list: field is immutable: removed ["stored-a","stored-b"]; spec.replicas: field is immutable: removed 1270170127; ` +
				`spec.size: field is immutable: changed from "stored" to "new"`,
			hidden: marked + `spec.list: field is immutable: removed; spec.replicas: field is immutable: removed; spec.size: field is immutable: changed`,
		},
		"marker, merge patch, dry run": {
			call:   call{"MERGE", things + "?dryRun=All", "", `{spec: {size: new}}`},
			shown:  marked + `spec.size: field is immutable: changed from "stored" to "new"`,
			hidden: marked + `spec.size: field is immutable: changed`,
		},
		// The new value of the list contains the stored items.
		"marker, json patch": {
			call:   call{"JSON", things, "", `[{op: add, path: /spec/list/-, value: c}]`},
			shown:  marked + `spec.list[2]: field is immutable: added "c"`,
			hidden: marked + `spec.list[2]: field is immutable: added`,
		},
		"marker, reordered": {
			call:   call{"MERGE", things, "", `{spec: {list: [stored-b, stored-a]}}`},
			shown:  marked + `spec.list: field is immutable: reordered from ["stored-a","stored-b"] to ["stored-b","stored-a"]`,
			hidden: marked + `spec.list: field is immutable: reordered`,
		},
		"marker, copied": {
			call:   call{"JSON", things, "", `[{op: copy, from: /spec/told, path: /spec/size}]`},
			shown:  marked + `spec.size: field is immutable: changed from "stored" to "stored-told"`,
			hidden: marked + `spec.size: field is immutable: changed`,
		},
		"marker, status": {
			call:   call{"MERGE", things + "/status", "", `{status: {phase: new}}`},
			shown:  marked + `status.phase: field is immutable: changed from "stored" to "new"`,
			hidden: marked + `status.phase: field is immutable: changed`,
		},
		"marker, scale": {
			call:   call{"MERGE", things + "/scale", "", `{spec: {replicas: 2}}`},
			shown:  marked + `spec.replicas: field is immutable: changed from 1270170127 to 2`,
			hidden: marked + `spec.replicas: field is immutable: changed`,
		},
		"rule of the definition": {
			call:   call{"MERGE", things, "", `{spec: {fixed: new}}`},
			shown:  invalid + `spec.fixed: Invalid value: "new": fixed stays`,
			hidden: invalid + `spec.fixed: Invalid value: fixed stays`,
		},
		// The author of the definition decides what a messageExpression shows.
		"messageExpression": {
			call:    call{"MERGE", things, "", `{spec: {told: new}}`},
			shown:   invalid + `spec.told: Invalid value: "new": was stored-told`,
			hidden:  invalid + `spec.told: Invalid value: was stored-told`,
			authors: true,
		},
		"definition": {
			call: call{
				"MERGE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.disclosure.example.com", "", `{spec: {scope: Cluster}}`,
			},
			shown: `422 CustomResourceDefinition.apiextensions.k8s.io "things.disclosure.example.com" is invalid: ` +
				`spec.scope: Invalid value: "Cluster": field is immutable`,
			hidden: `422 CustomResourceDefinition.apiextensions.k8s.io "things.disclosure.example.com" is invalid: ` +
				`spec.scope: Invalid value: field is immutable`,
		},
		"frozen selector": {
			call: call{"MERGE", deployments, "", `{spec: {selector: {matchLabels: {b: c}}, template: {metadata: {labels: {b: c}}}}}`},
			shown: `422 Deployment.apps "web" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"stored","b":"c"}}: ` +
				`field is immutable`,
			hidden: `422 Deployment.apps "web" is invalid: spec.selector: Invalid value: field is immutable`,
		},
		"frozen template": {
			call: call{
				"STRATEGIC", "/apis/batch/v1/namespaces/default/jobs/once", "",
				`{spec: {template: {spec: {containers: [{name: once, image: new}]}}}}`,
			},
			hidden: `422 Job.batch "once" is invalid: spec.template: Invalid value: field is immutable`,
		},
		"immutable ConfigMap": {
			call:   call{"MERGE", configMaps + "sealed", "", `{data: {a: new}}`},
			shown:  "422 ConfigMap \"sealed\" is invalid: data: Forbidden: field is immutable when `immutable` is set",
			hidden: "422 ConfigMap \"sealed\" is invalid: data: Forbidden: field is immutable when `immutable` is set",
		},
		"edit": {
			call:   call{"MERGE", configMaps + "settings", "kubectl edit", `{data: {a: new}}`},
			shown:  `422 ConfigMap "settings" is invalid: ` + edited(`"stored-applied"`, `"stored-live"`, `"new"`),
			hidden: `422 ConfigMap "settings" is invalid: ` + edited("<redacted>", "<redacted>", "<redacted>"),
		},
		"imperative, put, dry run": {
			call: call{
				"PUT", configMaps + "settings?dryRun=All", "kubectl patch",
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: new}}`,
			},
			shown:  changed("ConfigMap/settings -n default field .data.a", `"stored-live"`, `"new"`, `"stored-applied"`),
			hidden: changed("ConfigMap/settings -n default field .data.a", "<redacted>", "<redacted>", "<redacted>"),
		},
		"imperative, key removed": {
			call: call{
				"PUT", configMaps + "settings?dryRun=All", "kubectl patch",
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {b: new}}`,
			},
			shown:  changed("ConfigMap/settings -n default field .data.a", `"stored-live"`, `<none>`, `"stored-applied"`),
			hidden: changed("ConfigMap/settings -n default field .data.a", "<redacted>", "<redacted>", "<redacted>"),
		},
		"imperative, scale, dry run": {
			call:    call{"MERGE", deployments + "/scale?dryRun=All", "kubectl patch", `{spec: {replicas: 2}}`},
			shown:   changed("apps/Deployment/web -n default field .spec.replicas", "1270170127", "2", "1270170127"),
			hidden:  changed("apps/Deployment/web -n default field .spec.replicas", "<redacted>", "<redacted>", "<redacted>"),
			ofScale: changed("apps/Deployment/web -n default field .spec.replicas", "1270170127", "2", "1270170127"),
		},
		// The right to get the scale does not show the other fields.
		"imperative, object, dry run": {
			call:    call{"MERGE", deployments + "?dryRun=All", "kubectl patch", `{spec: {replicas: 2}}`},
			ofScale: changed("apps/Deployment/web -n default field .spec.replicas", "<redacted>", "<redacted>", "<redacted>"),
		},
		"malformed": {
			call:   call{"MERGE", configMaps + "malformed?dryRun=All", "kubectl patch", `{data: {b: new}}`},
			hidden: "200\nwarning: ownership not checked: the last-applied configuration cannot be read in full (ConfigMap/malformed -n default)",
		},
		"secret": {
			call:   call{"MERGE", "/api/v1/namespaces/default/secrets/keys?dryRun=All", "kubectl patch", `{data: {a: bmV3}}`},
			shown:  changed("Secret/keys -n default field .data.a", "<redacted>", "<redacted>", "<redacted>"),
			hidden: changed("Secret/keys -n default field .data.a", "<redacted>", "<redacted>", "<redacted>"),
		},
		"parameter": {
			call:   call{"MERGE", "/apis/kudo.dev/v1beta1/namespaces/default/instances/tok", "", `{spec: {parameters: {TOKENS: new}}}`},
			shown:  instance + "changed from 'stored' to 'new'",
			hidden: instance + "changed",
		},
		"parameter removed": {
			call:   call{"MERGE", "/apis/kudo.dev/v1beta1/namespaces/default/instances/tok", "", `{spec: {parameters: {TOKENS: null}}}`},
			shown:  instance + "removed (value 'stored')",
			hidden: instance + "removed",
		},
		"binding": {
			call: call{
				"POST", "/api/v1/namespaces/default/pods/bound/binding", "",
				`{apiVersion: v1, kind: Binding, metadata: {name: bound}, target: {kind: Node, name: new}}`,
			},
			shown:  `409 Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "stored"`,
			hidden: `409 Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to a node`,
		},
	}
}

// edited is the cause of a refused edit.
func edited(applied, live, updated string) string {
	return fmt.Sprintf("data.a: Forbidden: managed by `kubectl apply` (last set the field to %s), and the edit changes it from %s to %s…",
		applied, live, updated)
}

// changed is the answer to a write that changes a field of apply.
func changed(field, live, updated, applied string) string {
	return fmt.Sprintf("200\nwarning: `kubectl patch` changed the resource %s value from %s to %s.…(last set the field to %s)…",
		field, live, updated, applied)
}

// matches reports whether a text is the wanted one, in which "…" stands for any text.
func matches(want, text string) bool {
	pieces := strings.Split(want, "…")
	rest, found := strings.CutPrefix(text, pieces[0])
	for _, piece := range pieces[1:] {
		i := strings.Index(rest, piece)
		if !found || i < 0 {
			return false
		}
		rest = rest[i+len(piece):]
	}
	return found && (rest == "" || strings.HasSuffix(want, "…"))
}
