package console

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	podTemplates = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}
)

// TestSeries looks at the versions of a series, from the page of one of them on.
func TestSeries(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.patch(namespaces, "default", "test", `{"metadata":{"labels":{"holdfast.dev/collect":"unused"},"annotations":{"holdfast.dev/keep-last":"1"}}}`)
	for _, name := range []string{"settings", "settings-1", "settings-2"} {
		o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: `+name+
			`, labels: {holdfast.dev/series: settings}, annotations: {note: `+quoteJSON(hostile)+`}}, data: {k: `+quoteJSON(hostile)+`}}`)
	}
	o.create(podTemplates, "test", `{apiVersion: v1, kind: PodTemplate, metadata: {name: web}, template: {spec: `+
		`{containers: [{name: c, image: i, envFrom: [{configMapRef: {name: settings}}]}]}}}`)
	b := open(t, server)
	b.value(`(window.violations = [], document.addEventListener('securitypolicyviolation', (e) => { window.violations.push(e.violatedDirective) }))`)
	b.signIn(adminToken)
	b.show("#kind=v1/configmaps&namespace=default&name=settings-1", "ConfigMap settings-1")
	b.press("#view p a:last-child", "\r")
	const heading = "Series settings of ConfigMaps in namespace default"
	b.waitFor("the series", "document.querySelector('#view h2')?.innerText === "+quote(heading))
	for i, want := range []string{
		"settings-2\t|no object\tnone\t|stays: it is one of the newest 1 of its series",
		"settings-1\t|no object\tnone\t|deleted at |at the earliest",
		"settings\t|1 object\tnone\tstays: an object refers to it",
	} {
		row := b.value("document.querySelectorAll('#view tbody tr')[" + string(rune('0'+i)) + "]?.innerText ?? ''")
		for _, part := range strings.Split(want, "|") {
			if !strings.Contains(row, part) {
				t.Errorf("row %d is %q, want %q", i, row, want)
			}
		}
	}
	b.press("#view summary", "\r")
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
