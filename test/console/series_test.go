package console

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/lifecycle"
)

var (
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	podTemplates = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}
)

// TestSeries looks at the versions of a series, from the page of one of them on: used, unused, marked, and with files on a node.
func TestSeries(t *testing.T) {
	// Without the controller, the mark of the test stays.
	server := startConsole(t, "*", "-"+lifecycle.Collection)
	o := newObjects(t, server)
	o.patch(namespaces, "default", "test", `{"metadata":{"labels":{"holdfast.dev/collect":"unused"},"annotations":{"holdfast.dev/keep-last":"1"}}}`)
	for _, name := range []string{"settings", "settings-4fb8dd45fm", "settings-7k2m9d8f6b", "settings-c4h8t5b2kd", "settings-m5g6kdt27f"} {
		o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: `+name+
			`, labels: {holdfast.dev/series: settings}, annotations: {note: `+quoteJSON(hostile)+`}}, data: {k: `+quoteJSON(hostile)+`}}`)
	}
	o.patch(configMaps, "settings-7k2m9d8f6b", "holdfast-collector", `{"metadata":{"annotations":{"holdfast.dev/unused-since":"2026-01-02T03:04:05Z"}}}`)
	template := func(name, configMap string) {
		o.create(podTemplates, "test", `{apiVersion: v1, kind: PodTemplate, metadata: {name: `+name+`}, template: {spec: `+
			`{containers: [{name: c, image: i, envFrom: [{configMapRef: {name: `+configMap+`}}]}]}}}`)
	}
	template("old", "settings")
	template("web", "settings-m5g6kdt27f")
	template("worker", "settings-m5g6kdt27f")
	o.create(pods, "test", `{apiVersion: v1, kind: Pod, metadata: {name: web-0}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}`)
	o.patch(pods, "web-0", "test", `{"status":{"conditions":[{"type":"holdfast.dev/Pinned","status":"True",`+
		`"message":"configmaps/settings-4fb8dd45fm 1c5ab40c-0000-0000-0000-000000000000"}]}}`, "status")
	b := open(t, server)
	b.value(`(window.violations = [], document.addEventListener('securitypolicyviolation', (e) => { window.violations.push(e.violatedDirective) }))`)
	b.signIn(adminToken)
	b.show("#kind=v1/configmaps&namespace=default&name=settings-c4h8t5b2kd", "ConfigMap settings-c4h8t5b2kd")
	b.press("#view p a:last-child", "\r")
	const heading = "Series settings of ConfigMaps in namespace default"
	b.waitFor("the series", "document.querySelector('#view h2')?.innerText === "+quote(heading))
	const used, unused, goes = "\tnone\tstays: an object refers to it", "no object\t", "\tunused since |, deleted at |at the earliest"
	for i, want := range []string{
		"settings-m5g6kdt27f\t|2 objects" + used,
		"settings-c4h8t5b2kd\t|" + unused + "none" + goes,
		"settings-7k2m9d8f6b\t|" + unused + "none\tunused since 2026-01-02 03:04:05 UTC, marked, deleted at 2026-01-02 04:05:05 UTC at the earliest",
		"settings-4fb8dd45fm\t|" + unused + "1 pod" + goes,
		"settings\t|1 object" + used,
	} {
		// The browser puts the parts that can be opened on lines of their own.
		row := strings.ReplaceAll(b.value("document.querySelectorAll('#view tbody tr')["+strconv.Itoa(i)+"]?.innerText ?? ''"), "\n", "")
		for _, part := range strings.Split(want, "|") {
			if !strings.Contains(row, part) {
				t.Errorf("row %d is %q, want %q", i, row, want)
			}
		}
	}
	b.press("#view summary", "\r")
	b.press("#view tr:nth-child(4) summary", "\r")
	b.waitFor("the pod with files", `document.querySelector('#view tr:nth-child(4) li')?.innerText === 'Pod web-0 on node node-1, of an earlier object with this name'`)
	b.waitFor("the place of the reference", `document.querySelector('#view li')?.innerText === 'PodTemplate default/web template.spec.containers[0].envFrom[0].configMapRef.name'`)
	b.checkAccess("the series")
	b.checkHarmless("the series")
	b.picture("series")
	for _, name := range []string{"none", hostile, "a,b", "a=b"} {
		b.value("location.hash = '#' + new URLSearchParams({kind: 'v1/secrets', namespace: 'default', series: " + quoteJSON(name) + "})")
		b.waitFor("the answer about "+name, `document.getElementById('alert').innerText.includes('cannot be the name of a series') || `+
			`document.getElementById('view').innerText.includes('There are no versions.')`)
		b.checkHarmless("the series " + name)
	}
	b.checkTraffic()
}
