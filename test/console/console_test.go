package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestSignIn signs in with the keyboard, with a wrong token first.
func TestSignIn(t *testing.T) {
	server := startConsole(t)
	b := open(t, server)
	if focused := b.value("document.activeElement.id"); focused != "token" {
		t.Errorf("the focus is on %q, not on the field for the token", focused)
	}
	b.press("#token", "wrong\r")
	b.waitFor("the token is refused", `document.getElementById('alert').innerText.includes('does not accept')`)
	if left := b.value("document.getElementById('token').value"); left != "" {
		t.Errorf("the field still has %q", left)
	}
	b.signIn(readerToken)
	if session := b.text("#session"); !strings.Contains(session, "Signed in with a token.") {
		t.Errorf("the page says %q", session)
	}
	b.checkAccess("the start")
}

// TestRights checks that a user sees the refusal of the server, and that signing out forgets
// everything.
func TestRights(t *testing.T) {
	server := startConsole(t)
	b := open(t, server)
	b.signIn(readerToken)
	b.value("location.hash = '#kind=v1/secrets&namespace=default&name=none'")
	b.waitFor("the refusal", `document.getElementById('alert').innerText.includes('cannot get resource "secrets"')`)
	// A name with a slash would lead to a subresource.
	for _, name := range []string{"web/log", "..", "web%2Flog", "a?b"} {
		b.value("location.hash = '#' + new URLSearchParams({kind: 'v1/pods', namespace: 'default', name: " + quote(name) + "})")
		b.waitFor(name+" is refused", "document.getElementById('alert').innerText.includes('cannot be the name')")
		b.value("location.hash = '#'")
		b.waitFor("the start", "document.querySelector('#view h2')?.innerText === 'Overview'")
	}
	b.press("#sign-out", "\r")
	b.waitFor("signed out", `!document.getElementById('sign-in').hidden && document.getElementById('view').innerText === ''`)
	b.checkTraffic()
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.requests, func(r *network.Request) bool { return strings.Contains(r.URL, "/pods/") }) {
		t.Error("the page sent a request for a name with a slash")
	}
}

// TestObject looks at the owners, the drift and the locked fields of a Deployment, from the list
// on, with the keyboard.
func TestObject(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(deployments, "kubectl-client-side-apply", web)
	o.patch(deployments, "web", "kubectl-scale", `{"spec":{"replicas":5}}`)
	b := open(t, server)
	b.signIn(adminToken)
	b.show("#kind=apps/v1/deployments&namespace=default", "Deployment: objects in namespace default")
	b.press("#view a", "\r")
	b.waitFor("the object", `document.querySelector('#view h2')?.innerText === 'Deployment web'`)
	if focused := b.value("document.activeElement.innerText"); focused != "Deployment web" {
		t.Errorf("the focus is on %q, not on the heading of the new view", focused)
	}
	if title := b.value("document.title"); title != "Deployment web – Holdfast console" {
		t.Errorf("title %q", title)
	}
	for selector, want := range map[string]string{
		"#drift tbody tr":  ".spec.replicas\t5\t2\tkubectl scale",
		"#locks tbody tr":  ".spec.selector\tevery change is refused\tKubernetes fixes this field of the kind Deployment\tnone",
		"#owners caption":  "Fields with their owners",
		"#status":          "Deployment web",
		"#view dl":         "Deployment (apps/v1)",
		"#owners thead tr": "Field\tValue\tRule\tOwner\tSet by\tAt",
	} {
		if got := b.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
	b.press("#field-filter", "image")
	if rows := b.value("document.querySelectorAll('#owners tbody tr').length"); rows != "2" {
		t.Errorf("%s fields contain \"image\", want image and imagePullPolicy", rows)
	}
	b.press("#field-filter", strings.Repeat("\b", len("image")))
	b.checkAccess("the object")
	b.picture("object")
	b.dark()
	b.checkAccess("the object, dark")
	b.checkTraffic()
}

// TestDefinition looks at the skeleton and the escapes of a definition, and at a custom resource.
func TestDefinition(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(definitions, "test", boatDefinition)
	o.create(boats, "test", boat)
	b := open(t, server)
	b.signIn(adminToken)
	b.show("#kind=example.org/v1/boats&namespace=default&name=kestrel", "Boat kestrel")
	for _, want := range []string{
		".spec.hull\tevery change is refused\tx-kubernetes-immutable in version v1 of the definition\tnone",
		".spec.berths\tremoving keys or items is refused\tx-kubernetes-addition-only in version v1 of the definition\tnone",
		".spec.crew\tevery change is refused while has(oldSelf.spec.hull). The condition is true now\t",
		"\tthe right to muster, which you have",
	} {
		if got := b.text("#locks table"); !strings.Contains(got, want) {
			t.Errorf("locks %q, want %q", got, want)
		}
	}
	if got, want := b.text("#kept tbody"), "the rule \"no-delete unless scrap\" of the definition\tthe right to scrap, which you have"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
	b.checkAccess("the custom resource")
	b.show("#kind=apiextensions.k8s.io/v1/customresourcedefinitions&name=boats.example.org", "CustomResourceDefinition boats.example.org")
	got := b.text("#version-v1")
	for _, want := range []string{
		".spec.hull\tstring\tx-kubernetes-immutable", "spec is optional: it can be removed and then set again",
		"make spec required; or write x-kubernetes-update: [NoUnset] on spec", "no-delete unless scrap",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("version %q, want %q", got, want)
		}
	}
	b.checkAccess("the definition")
	b.dark()
	b.picture("definition")
	b.checkTraffic()
}

// TestPlan looks at the locked parameters of an Instance, and follows a plan that waits, without
// loading the page again.
func TestPlan(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(versions, "test", operatorVersion)
	o.create(instances, "test", instance)
	b := open(t, server)
	b.signIn(adminToken)
	b.show("#kind=kudo.dev/v1beta1/instances&namespace=default&name=shop", "Instance shop")
	b.waitFor("the first plan", `document.querySelector('#plans h4')?.innerText.includes('Plan deploy: ✓ complete')`)
	ready := `{"status":{"observedGeneration":%d,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}`
	o.patch(deployments, "shop", "test", strings.Replace(ready, "%d", "1", 1), "status")
	o.patch(instances, "shop", "test", `{"spec":{"parameters":{"IMAGE":"b"}}}`)
	b.waitFor("the running plan", `document.querySelector('#plans h4')?.innerText.includes('in progress')`)
	b.waitFor("what it waits for", `document.querySelector('#plans')?.innerText.includes('the last change is not taken up yet')`)
	locked := ".spec.parameters.STORE\tevery change is refused\tthe parameter is immutable in the OperatorVersion shop-0.1.0\t" +
		"an upgrade to an OperatorVersion in which the parameter is not immutable"
	if got := b.text("#locks tbody"); got != locked {
		t.Errorf("locks %q, want %q", got, locked)
	}
	b.checkAccess("the plan")
	b.picture("plan")
	o.patch(deployments, "shop", "test", strings.Replace(ready, "%d", "2", 1), "status")
	b.waitFor("the end of the plan", `document.querySelector('#plans h4')?.innerText.includes('complete')`)
	b.waitFor("the announcement", `document.getElementById('status').innerText === 'Plan deploy: complete'`)
	b.checkTraffic()
}

// TestHostileText checks that the text of an object is never HTML or script, and that the policy
// of the page would stop it if it were.
func TestHostileText(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	// Slashes are the only characters of the text that a name cannot have.
	name := strings.ReplaceAll(hostile, "/", "")
	o.create(clusterRoles, hostile, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: '`+name+`', annotations: {note: '`+hostile+`'}}
`)
	o.create(configMaps, hostile, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hostile}, data: {key: '`+hostile+`'}}`)
	b := open(t, server)
	b.value(`(window.violations = 0, document.addEventListener('securitypolicyviolation', () => { window.violations++ }))`)
	b.signIn(adminToken)
	b.show("#kind=rbac.authorization.k8s.io/v1/clusterroles", "ClusterRole: objects")
	b.value("location.hash = '#' + new URLSearchParams({kind: 'rbac.authorization.k8s.io/v1/clusterroles', name: " + quote(name) + "})")
	b.waitFor("the role", "document.querySelector('#view h2')?.innerText === "+quote("ClusterRole "+name))
	if got := b.text("#owners"); !strings.Contains(got, hostile) {
		t.Errorf("the page shows %q", got)
	}
	b.show("#kind=v1/configmaps&namespace=default&name=hostile", "ConfigMap hostile")
	if got := b.text("#owners"); strings.Count(got, hostile) != 2 {
		t.Errorf("the page shows %q, want the text as the value and as the manager", got)
	}
	found := b.value("document.querySelectorAll('main img, main script').length + ' ' + window.pwned + ' ' + window.violations")
	if found != "0 undefined 0" {
		t.Errorf("elements, scripts that ran, violations of the policy: %s", found)
	}
	b.checkTraffic()
	// The policy itself: a script cannot make HTML from a string, inline code does not run, and other servers are out of reach.
	for attempt, want := range map[string]string{
		`document.body.innerHTML = '<p>'`: "TypeError",
		`eval('1')`:                       "EvalError",
		`fetch('https://192.0.2.1/')`:     "TypeError",
	} {
		// The driver may do more than the page, so the attempt runs later.
		later := "new Promise((end) => setTimeout(async () => { try { await (" + attempt + "); end('done') } catch (e) { end(e.name) } }))"
		if got := b.value(later); got != want {
			t.Errorf("%s: %s, want %s", attempt, got, want)
		}
	}
	style := `(() => { const s = document.createElement('style'); s.textContent = 'body { opacity: 0.5 }'; document.head.append(s);` +
		` return getComputedStyle(document.body).opacity })()`
	if got := b.value(style); got != "1" {
		t.Errorf("an inline style has an effect: opacity %s", got)
	}
}

// TestSecret checks that neither the page nor an answer to it has the value of a Secret.
func TestSecret(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(secrets, "kubectl-client-side-apply", `
apiVersion: v1
kind: Secret
metadata:
  name: database
  namespace: default
  labels: {team: harbour}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: SELF}
immutable: false
data: {password: czNjcmV0LXZhbHVl}
`)
	o.patch(secrets, "database", "kubectl-patch", `{"stringData":{"password":"an0ther-value"}}`)
	b := open(t, server)
	b.signIn(adminToken)
	b.show("#kind=v1/secrets&namespace=default", "Secret: objects in namespace default")
	b.show("#kind=v1/secrets&namespace=default&name=database", "Secret database")
	if got := b.text("#drift tbody tr"); !strings.HasPrefix(got, ".data.password\t<redacted>\t<redacted>\tkubectl patch") {
		t.Errorf("drift %q", got)
	}
	if got := b.text("#owners tbody"); !strings.Contains(got, ".metadata.labels.team\t\"harbour\"") {
		t.Errorf("fields %q, want the label with its value", got)
	}
	page := b.value("document.documentElement.outerHTML")
	waittest.Until(t, "the bodies of the answers are known", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.ContainsFunc(b.bodies, func(body string) bool { return strings.Contains(body, `"kind":"Report"`) })
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, value := range []string{"s3cret-value", "czNjcmV0LXZhbHVl", "an0ther-value", "YW4wdGhlci12YWx1ZQ"} {
		for _, text := range append(b.bodies, page) {
			if strings.Contains(text, value) {
				t.Errorf("%s is in %s", value, text)
			}
		}
	}
}
