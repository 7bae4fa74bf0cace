package console

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var traps = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "traps"}

// quoteJSON returns a text as JSON, which is also YAML and JavaScript.
func quoteJSON(text string) string {
	// A string can always be encoded.
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// hostileTexts run a script if a page takes them as HTML, as the end of an attribute, as a link, or as code.
var hostileTexts = map[string]string{
	"element":   hostile,
	"attribute": `"'><svg onload=window.pwned=1>`,
	"link":      `javascript:window.pwned=1//`,
	"template":  "${window.pwned=1}{{constructor.constructor('window.pwned=1')()}}`",
	"data":      `<iframe srcdoc="<script>parent.pwned=1</script>"><a href=data:text/html,x>`,
	"ending":    `</code></td></table><style>*{display:none}</style><base href=https://192.0.2.1/>`,
	"unicode":   "\u202e\u2028\u2029<\u200bscript>",
}

// hostileDefinition is a definition whose texts are hostile, in all places where a definition may have any text. TEXT is one
// of them as JSON.
const hostileDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: traps.example.org, annotations: {note: TEXT}}
spec:
  group: example.org
  names: {plural: traps, kind: Trap}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: TEXT, type: string, description: TEXT, jsonPath: .spec.text}
    - {name: Name, type: string, description: TEXT, jsonPath: .spec.text}
    schema:
      openAPIV3Schema:
        type: object
        description: TEXT
        properties:
          spec:
            type: object
            additionalProperties: {type: string, description: TEXT}
`

// hostilePlan is the status of an Instance whose plan has hostile names and messages.
const hostilePlan = `{"status":{"planStatus":{"deploy":{"name":TEXT,"status":"ERROR","message":TEXT,"lastUpdatedTimestamp":"2026-01-01T00:00:00Z",
"phases":[{"name":TEXT,"status":"ERROR","steps":[{"name":TEXT,"status":"ERROR","message":TEXT}]}]}}}}`

// TestHostileEverywhere puts hostile texts into every kind of view: lists, definitions, values, keys, owners, drift, plans, errors
// and the address of the page. No script runs, no element of the texts exists, and the policy had nothing to stop.
func TestHostileEverywhere(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(definitions, hostile, strings.ReplaceAll(hostileDefinition, "TEXT", quoteJSON(hostile)))
	o.create(versions, "test", operatorVersion)
	o.create(instances, "test", instance)
	for name, text := range hostileTexts {
		quoted := quoteJSON(text)
		o.create(traps, "kubectl-client-side-apply",
			`{apiVersion: example.org/v1, kind: Trap, metadata: {name: `+name+`, annotations: {note: `+quoted+
				`, kubectl.kubernetes.io/last-applied-configuration: SELF}}, spec: {text: `+quoted+`, `+quoted+`: `+quoted+`}}`)
	}
	b := open(t, server)
	b.value(`(window.violations = [], document.addEventListener('securitypolicyviolation', (e) => { window.violations.push(e.violatedDirective) }))`)
	b.signIn(adminToken)
	b.show("#kind=example.org/v1/traps&namespace=default", "Trap: objects in namespace default")
	b.checkHarmless("the list")
	b.show("#kind=apiextensions.k8s.io/v1/customresourcedefinitions&name=traps.example.org", "CustomResourceDefinition traps.example.org")
	b.checkHarmless("the definition")
	for name, text := range hostileTexts {
		b.show("#kind=example.org/v1/traps&namespace=default&name="+name, "Trap "+name)
		// The page shows values as JSON, with escaped characters, so the end is compared.
		part := text[len(text)-5:]
		if shown := b.value("document.querySelector('#owners').textContent"); !strings.Contains(shown, part) {
			t.Errorf("%s: the page shows %q", name, shown)
		}
		b.checkHarmless(name)
		b.value("location.hash = '#' + new URLSearchParams({kind: 'v1/configmaps', namespace: " + quoteJSON(text) + ", name: " + quoteJSON(text) + "})")
		b.waitFor("the error for "+name, "document.getElementById('alert').textContent !== ''")
		b.checkHarmless("the error for " + name)
		b.value("location.hash = '#' + " + quoteJSON(text))
		b.waitFor("the explanation", "document.querySelector('#view h2')?.innerText === 'This link leads nowhere'")
		b.checkHarmless("the address " + name)
	}
	b.show("#kind=kudo.dev/v1beta1/instances&namespace=default&name=shop", "Instance shop")
	// The controller then leaves the status alone.
	b.waitFor("the end of the plan", `document.querySelector('#plans h4')?.innerText.includes('complete')`)
	for name, text := range hostileTexts {
		o.patch(instances, "shop", "test", strings.ReplaceAll(hostilePlan, "TEXT", quoteJSON(name+": "+text)), "status")
		b.waitFor("the plan "+name, "document.getElementById('plans')?.textContent.includes("+quoteJSON(name+": "+text)+")")
		b.checkHarmless("the plan " + name)
	}
	b.checkTraffic()
}

// checkHarmless checks that no text became an element, ran, or met the policy of the page.
func (b *browser) checkHarmless(where string) {
	b.t.Helper()
	// An event handler of an element, and a script, would run in a later task.
	b.value("new Promise((end) => setTimeout(end, 10))")
	found := b.value(`[...document.querySelectorAll('img, svg, iframe, base, style, object, embed, body script, [onload], [onerror], [style]')]
		.map((e) => e.localName).join() + ' ' + [...document.links].filter((a) => !a.getAttribute('href').startsWith('#')).length +
		' ' + window.pwned + ' ' + window.violations.join()`)
	if found != " 0 undefined " {
		b.t.Errorf("%s: elements, links to elsewhere, scripts that ran, violations of the policy: %q", where, found)
	}
}
