package console

import (
	"strings"
	"testing"
)

// TestHistory looks at the recorded changes of an object: hostile values as text, no values of a Secret, and a sentence where
// nothing is recorded.
func TestHistory(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, metadata: {name: recorded, labels: {holdfast.dev/history: fields}}, data: {level: "1"}}`)
	o.patch(configMaps, "recorded", "kubectl-patch", `{"data":{"level":"2"}}`)
	o.patch(configMaps, "recorded", "test", `{"data":{"level":`+quoteJSON(hostile)+`,"right":`+quoteJSON(hostileTexts["unicode"])+`}}`)
	o.create(secrets, "test", `{apiVersion: v1, kind: Secret, metadata: {name: recorded, labels: {holdfast.dev/history: fields}}, stringData: {k: first-value}}`)
	o.patch(secrets, "recorded", "test", `{"stringData":{"k":"second-value"}}`)
	o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}`)
	b := open(t, server)
	b.value(`(window.violations = [], document.addEventListener('securitypolicyviolation', (e) => { window.violations.push(e.violatedDirective) }))`)
	b.signIn(adminToken)
	b.show("#kind=v1/configmaps&namespace=default&name=recorded", "ConfigMap recorded")
	got := b.text("#history tbody")
	newest, oldest := strings.Index(got, ".data.level\t\"2\"\t"), strings.Index(got, ".data.level\t\"1\"\t\"2\"\tholdfast-admin")
	if newest < 0 || oldest < newest || !strings.Contains(got, "created") {
		t.Errorf("history %q, want the newest change first", got)
	}
	if !strings.Contains(got, `.data.right	absent	"\u202e\u2028\u2029<\u200bscript>"`) {
		t.Errorf("history %q, want the characters that cannot be seen as numbers", got)
	}
	b.checkHarmless("the history")
	b.checkAccess("the history")
	b.checkFits("history")
	b.resize(desk)
	b.show("#kind=v1/secrets&namespace=default&name=recorded", "Secret recorded")
	if got := b.text("#history tbody"); !strings.Contains(got, ".data.k\ta secret value\ta secret value\t") {
		t.Errorf("history of a Secret: %q", got)
	}
	b.show("#kind=v1/configmaps&namespace=default&name=other", "ConfigMap other")
	if got := b.text("#history"); !strings.Contains(got, "The server does not record the changes of this object.") {
		t.Errorf("history of an object without the label: %q", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, body := range b.bodies {
		for _, value := range []string{"first-value", "second-value", "c2Vjb25kLXZhbHVl"} {
			if strings.Contains(body, value) {
				t.Errorf("%s is in %s", value, body)
			}
		}
	}
}
