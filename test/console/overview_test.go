package console

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/waittest"
)

var policies = schema.GroupVersionResource{Group: "guard.holdfast.dev", Version: "v1beta1", Resource: "immutabilitypolicies"}

// longest is a name with as many letters as a name may have, and no place to break it.
var longest = strings.Repeat("w", 253)

// refuse sends a merge patch that the server refuses.
func (o objects) refuse(resource schema.GroupVersionResource, name, patch string) {
	o.t.Helper()
	_, err := o.in(resource).Patch(o.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err == nil {
		o.t.Fatalf("%s %s: the server accepts %s", resource.Resource, name, patch)
	}
}

// await waits until the plan of the Instance has a state.
func (o objects) await(state string) {
	o.t.Helper()
	waittest.Until(o.t, "the plan is "+state, func() bool {
		found, err := o.in(instances).Get(o.t.Context(), "shop", metav1.GetOptions{})
		if err != nil {
			return false
		}
		got, _, _ := unstructured.NestedString(found.Object, "status", "planStatus", "deploy", "status")
		return got == state
	})
}

// fill creates objects for each section of the overview.
func (o objects) fill() {
	o.t.Helper()
	o.create(definitions, "test", boatDefinition)
	o.create(boats, "test", boat)
	o.create(deployments, "kubectl-client-side-apply", web)
	o.patch(deployments, "web", "kubectl-scale", `{"spec":{"replicas":5}}`)
	o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: settings}, data: {level: "1"}}`)
	o.create(secrets, "test", `{apiVersion: v1, kind: Secret, immutable: true, metadata: {name: database, annotations: {holdfast.dev/keep: always}}}`)
	o.create(policies, "test", `{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: claims}, spec: {mode: warn, `+
		`resources: [persistentvolumeclaims], rules: [immutable spec.storageClassName]}}`)
	o.create(pods, "test", `{apiVersion: v1, kind: Pod, metadata: {name: web-0}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}`)
	o.patch(pods, "web-0", "test", `{"status":{"conditions":[{"type":"holdfast.dev/VolumesReady","status":"False",`+
		`"message":"volume settings: no space is left on the file system"}]}}`, "status")
	o.create(versions, "test", operatorVersion)
	o.create(instances, "test", instance)
	o.refuse(configMaps, "settings", `{"data":{"level":"secret-value"}}`)
	o.refuse(boats, "kestrel", `{"spec":{"hull":"wood"}}`)
	// The first plan ends at once, and the second one waits for the Deployment.
	o.await("COMPLETE")
	o.patch(deployments, "shop", "test", `{"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}`, "status")
	o.patch(instances, "shop", "test", `{"spec":{"parameters":{"IMAGE":"b"}}}`)
	o.await("IN_PROGRESS")
}

// looked waits until the overview has all answers.
func (b *browser) looked() {
	b.t.Helper()
	b.waitFor("the overview is complete", `/^Looked at .* objects? of/.test(document.getElementById('progress')?.innerText ?? '')`)
}

// TestOverview looks at the landing page with the keyboard only, at each of its sections, in the windows of a phone and of a desk.
func TestOverview(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.fill()
	b := open(t, server)
	b.value(`(window.violations = [], document.addEventListener('securitypolicyviolation', (e) => { window.violations.push(e.violatedDirective) }))`)
	b.tabTo("#token")
	b.keys(adminToken + "\r")
	b.waitFor("signed in", `!document.getElementById('find').hidden`)
	b.looked()
	for section, wants := range map[string][]string{
		"locked": {
			"settings\tConfigMap\tdefault", "database\tSecret\tdefault\talways", "boats.example.org\t3\t", "immutable spec.crew unless muster",
			"claims\tpersistentvolumeclaims\t", "immutable spec.storageClassName", "\twarns",
		},
		"drift":    {"web\tDeployment\tdefault\t.spec.replicas"},
		"findings": {"boats.example.org\t", "version v1: marked fields can be changed in two allowed writes, in 2 ways"},
		"plans":    {"shop\tdefault\tdeploy\t"},
		"files":    {"web-0\tdefault\tnode-1\t", "not all volumes are up to date: volume settings: no space is left on the file system"},
		"refused":  {"Boat kestrel\tdefault\tpatch\t", "spec.hull\tthe definition makes the field immutable", "the ConfigMap or Secret is immutable"},
	} {
		got := b.text("#" + section)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("section %s: %q, want %q", section, got, want)
			}
		}
	}
	if got := b.value("document.body.textContent.includes('secret-value')"); got != "false" {
		t.Error("the page has the value of a refused write")
	}
	if got := b.text("#status"); !strings.Contains(got, "Refused writes 2") {
		t.Errorf("a screen reader hears %q", got)
	}
	b.checkAccess("the overview")
	b.checkHarmless("the overview")
	b.tabTo("#tile-refused")
	b.keys("\r")
	b.waitFor("the focus is on the section", "document.activeElement.id === 'refused-title'")
	b.resize(phone)
	b.picture("overview-phone")
	b.resize(desk)
	b.picture("overview")
	// The page asks once. It asks again if the user comes back.
	o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: `+longest+`}, data: {level: "1"}}`)
	o.refuse(configMaps, longest, `{"data":{"`+strings.Repeat("k", 200)+`":"2"}}`)
	b.value("location.hash = '#view=overview'")
	b.waitFor("the long name", "['locked', 'refused'].every((id) => document.getElementById(id)?.textContent.includes("+quote(longest)+"))")
	b.checkFits("overview")
	b.dark()
	b.checkAccess("the overview, dark")

	// From the overview to an object, and to the overview of a namespace.
	b.tabTo("#drift a")
	b.keys("\r")
	b.waitFor("the object", `document.querySelector('#view h2')?.innerText === 'Deployment web'`)
	if got := b.text("#owners tbody"); !strings.Contains(got, "every change is refused, as of .spec.selector: Kubernetes fixes this field of the kind Deployment") {
		t.Errorf("fields %q, want the rule of .spec.selector", got)
	}
	b.checkFits("object")
	b.show("#view=overview&namespace=kube-system", "Overview of namespace kube-system")
	b.looked()
	if got := b.text("#findings"); !strings.Contains(got, "These objects have no namespace: see the overview of all namespaces.") {
		t.Errorf("findings of a namespace: %q", got)
	}
	if got := b.text("#locked"); !strings.Contains(got, "Definitions and policies have no namespace: see the overview of all namespaces.") {
		t.Errorf("what is locked in a namespace: %q", got)
	}
	b.checkAccess("the overview of a namespace")
	b.checkTraffic()
}

// TestOverviewRights checks that a user without roles sees nothing, and reads in each section why.
func TestOverviewRights(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: settings}, data: {level: "1"}}`)
	o.refuse(configMaps, "settings", `{"data":{"level":"2"}}`)
	b := open(t, server)
	b.signIn(readerToken)
	b.looked()
	for _, section := range []string{"locked", "drift", "findings", "plans", "files"} {
		if got := b.text("#" + section); !strings.Contains(got, "You may not list ") || !strings.Contains(got, "so this section is empty") || strings.Contains(got, "None.") {
			t.Errorf("section %s: %q", section, got)
		}
	}
	if got := b.text("#refused"); !strings.Contains(got, "to objects that you may get") || !strings.Contains(got, "None.") {
		t.Errorf("refused writes: %q", got)
	}
	if got := b.text("#tile-locked") + b.text("#tile-drift"); got != "–\n\nLocked–\n\nDrift" && got != "–\nLocked–\nDrift" {
		t.Errorf("the tiles are %q, and a number would be a statement about objects", got)
	}
	if got := b.text("#view"); strings.Contains(got, "settings") {
		t.Errorf("the page shows an object that the user may not list: %q", got)
	}
	b.checkAccess("without rights")
	b.checkFits("no-rights")
	b.checkTraffic()
}

// TestFind finds objects by a search, in the lists of all namespaces, and by links that lead nowhere.
func TestFind(t *testing.T) {
	server := startConsole(t)
	o := newObjects(t, server)
	o.create(namespaces, "test", `{apiVersion: v1, kind: Namespace, metadata: {name: harbour}}`)
	o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, metadata: {name: harbour-settings}}`)
	o.create(configMaps, "test", `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+longest+`}}`)
	b := open(t, server)
	b.value(`(window.violations = [], document.addEventListener('securitypolicyviolation', (e) => { window.violations.push(e.violatedDirective) }))`)
	b.signIn(adminToken)
	b.looked()
	b.tabTo("#text")
	b.keys("HARBOUR\r")
	b.waitFor("the search", `/^Searched \d+ kinds\.$/.test(document.getElementById('progress')?.innerText ?? '')`)
	got := b.text("#objects tbody")
	for _, want := range []string{"harbour\tNamespace", "harbour-settings\tConfigMap\tdefault"} {
		if !strings.Contains(got, want) {
			t.Errorf("the search finds %q, want %q", got, want)
		}
	}
	b.checkAccess("the search")
	b.checkFits("search")
	b.show("#view=search&text=deploy", "Search for “deploy”")
	if got := b.text("#kinds tbody"); !strings.HasPrefix(got, "Deployment\tapps/v1/deployments") {
		t.Errorf("kinds %q", got)
	}
	for name, text := range hostileTexts {
		b.value("location.hash = '#' + new URLSearchParams({view: 'search', text: " + quoteJSON(text) + "})")
		b.waitFor("the search for "+name, "document.querySelector('#view h2')?.textContent.startsWith('Search for') && "+
			"document.querySelector('#view h2').textContent.includes("+quoteJSON(strings.TrimSpace(text))+")")
		b.checkHarmless("the search for " + name)
	}
	b.show("#kind=v1/configmaps", "ConfigMap: objects in all namespaces")
	if got := b.text("#view table"); !strings.Contains(got, "harbour-settings\tdefault\t") || !strings.HasPrefix(got, "ConfigMap: objects in all namespaces\nName\tNamespace\tData\tAge") {
		t.Errorf("list %q", got)
	}
	b.checkFits("list")
	b.show("#kind=v1/configmaps&text=settings", "ConfigMap: objects in all namespaces")
	b.waitFor("one object", `document.querySelectorAll('#view tbody tr').length === 1`)

	// Errors and links that lead nowhere.
	for hash, want := range map[string]string{
		"#kind=v1/configmaps&namespace=nowhere":            "The namespace nowhere does not exist.",
		"#kind=v1/configmaps&namespace=nowhere&name=a":     "The namespace nowhere does not exist.",
		"#view=overview&namespace=nowhere":                 "The namespace nowhere does not exist.",
		"#view=search&text=a&namespace=nowhere":            "The namespace nowhere does not exist.",
		"#kind=v1/configmaps&namespace=default&name=other": `configmaps "other" not found`,
	} {
		b.value("location.hash = " + quote(hash))
		b.waitFor("the error of "+hash, "document.getElementById('alert').innerText.includes("+quote(want)+")")
		b.checkAccess(hash)
	}
	for hash, want := range map[string]string{
		"#kind=v1/configmaps&namespace=default&name=other": "There is no such object now.",
		"#kind=apps/v1beta9/deployments&namespace=default": "This server serves no kind apps/v1beta9/deployments.",
		"#kind=v1/pods&name=a":                             "The link names no namespace",
		"#somewhere":                                       "The link names no kind of objects.",
	} {
		b.value("location.hash = " + quote(hash))
		b.waitFor("the explanation of "+hash, "document.querySelector('#view h2')?.innerText === 'This link leads nowhere' && "+
			"document.getElementById('view').innerText.includes("+quote(want)+")")
	}
	b.value(`location.hash = '#kind=apps/v1beta9/deployments'`)
	b.waitFor("a link to the kind that is meant", `[...document.querySelectorAll('#view a')].some((a) => a.hash === '#kind=apps%2Fv1%2Fdeployments')`)
	b.checkFits("nowhere")
	b.checkTraffic()
}
