package console_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	configMaps  = "/api/v1/namespaces/default/configmaps"
	secrets     = "/api/v1/namespaces/default/secrets"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgets     = "/apis/example.com/v1/namespaces/default/widgets"
	kudo        = "/apis/kudo.dev/v1beta1/namespaces/default/"
	mergePatch  = "application/merge-patch+json"
)

// TestReports checks the reports about objects of each kind, on one server.
func TestReports(t *testing.T) {
	t.Parallel()
	s := start(t, apiserver.Config{Console: true})
	for name, test := range map[string]func(*testing.T, server){
		"owners and drift":    testOwners,
		"frozen fields":       testFrozen,
		"the flag immutable":  testFlag,
		"markers":             testMarkers,
		"plans":               testPlans,
		"parameters":          testParameters,
		"another namespace":   testVersionElsewhere,
		"the viewer":          testViewer,
		"refused writes":      testRefused,
		"overview":            testOverview,
		"overview and rights": testOverviewRights,
		"lists":               testObjects,
		"secrets":             testSecrets,
		"rights":              testRights,
		"hostile text":        testHostileText,
		"requests of another": testOtherRequests,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func testOwners(t *testing.T, s server) {
	s.create(t, configMaps+"?fieldManager=kubectl-client-side-apply", `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"name":"settings","namespace":"default"},"data":{"a":"1","b":"2"}}
data: {a: "1", b: "2"}
`)
	s.write(t, http.MethodPatch, configMaps+"/settings?fieldManager=kubectl-patch", mergePatch, `{"data":{"a":"9","c":"3"}}`)
	report, _ := s.report(t, configMaps+"/settings")
	withoutTime := cmpopts.IgnoreFields(console.Field{}, "At")
	drift := []console.Field{{Field: ".data.a", Value: `"9"`, AppliedValue: `"1"`, Owner: "kubectl apply", SetBy: "kubectl patch"}}
	if diff := cmp.Diff(drift, report.Drift, withoutTime); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	fields := slices.DeleteFunc(report.Fields, func(f console.Field) bool { return !strings.HasPrefix(f.Field, ".data") })
	want := []console.Field{
		{Field: ".data.a", Value: `"9"`, Owner: "kubectl apply", SetBy: "kubectl patch"},
		{Field: ".data.b", Value: `"2"`, Owner: "kubectl apply", SetBy: "kubectl-client-side-apply"},
		{Field: ".data.c", Value: `"3"`, SetBy: "kubectl patch"},
	}
	if diff := cmp.Diff(want, fields, withoutTime); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if !report.Applied || fields[0].At == nil || len(report.Locks) > 0 || len(report.Notes) > 0 {
		t.Errorf("report %+v", report)
	}
}

func testFrozen(t *testing.T, s server) {
	s.create(t, deployments, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
`)
	report, _ := s.report(t, deployments+"/web")
	want := []console.Lock{{
		Field: ".spec.selector", Reason: "frozen", Why: "Kubernetes fixes this field of the kind Deployment", Rule: "every change is refused",
	}}
	if diff := cmp.Diff(want, report.Locks); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
	if report.Applied || report.Object.Kind != "Deployment" || report.Object.Namespace != "default" || report.Object.Created.IsZero() {
		t.Errorf("report %+v", report)
	}
}

func testFlag(t *testing.T, s server) {
	s.create(t, configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: fixed}, immutable: true, data: {a: b}}")
	report, _ := s.report(t, configMaps+"/fixed")
	if report.NeverReplaced != "" {
		t.Errorf("a ConfigMap is never replaced: %s", report.NeverReplaced)
	}
	want := []string{".binaryData flag", ".data flag", ".immutable flag"}
	if diff := cmp.Diff(want, lockLines(report)); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
}

// lockLines returns the field and the reason of each lock.
func lockLines(report console.Report) []string {
	var lines []string
	for _, lock := range report.Locks {
		lines = append(lines, lock.Field+" "+lock.Reason)
	}
	return lines
}

func testMarkers(t *testing.T, s server) {
	crd, err := os.ReadFile("../../../examples/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.create(t, definitions, string(crd))
	waittest.Until(t, "widgets are served", func() bool {
		return s.send(t, s.admin, http.MethodGet, widgets).code == http.StatusOK
	})
	s.create(t, widgets, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: anchor}, "+
		"spec: {size: large, labels: {team: harbour}, ports: [{name: http, port: 80}]}}")
	report, _ := s.report(t, widgets+"/anchor")
	want := []string{
		".spec.labels marker", ".spec.ports marker", `.spec.ports[name="http"].name marker`, ".spec.size marker",
	}
	if diff := cmp.Diff(want, lockLines(report)); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
	if why := report.Locks[3].Why; why != "x-kubernetes-immutable in version v1 of the definition" {
		t.Errorf("why %q", why)
	}
	if rule := report.Locks[0].Rule; rule != "removing keys or items is refused" {
		t.Errorf("rule %q", rule)
	}

	report, _ = s.report(t, definitions+"/widgets.example.com")
	if report.NeverReplaced == "" {
		t.Error("a definition may be replaced")
	}
	if len(report.Versions) != 1 {
		t.Fatalf("versions %+v", report.Versions)
	}
	v1 := report.Versions[0]
	has := func(node console.Node) bool {
		return slices.ContainsFunc(v1.Skeleton, func(n console.Node) bool { return cmp.Equal(n, node) })
	}
	for _, node := range []console.Node{
		{Field: ".spec", Type: "object"},
		{Field: ".spec.size", Depth: 1, Type: "string", Marker: "x-kubernetes-immutable"},
		{Field: ".spec.labels.*", Depth: 2, Type: "string"},
		{Field: ".spec.ports", Depth: 1, Type: "array of type map", Marker: "x-kubernetes-immutable-keys"},
	} {
		if !has(node) {
			t.Errorf("the skeleton has no %+v: %+v", node, v1.Skeleton)
		}
	}
	if !v1.Served || !v1.Storage || v1.Note != "" || v1.Escapes == nil {
		t.Errorf("version %+v", v1)
	}
}

func testPlans(t *testing.T, s server) {
	s.create(t, kudo+"operatorversions", `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: app-0.1.0}
spec:
  operator: {name: app}
  version: 0.1.0
  templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-a'}}"}
  tasks: [{name: make, kind: Apply, spec: {resources: [a.yaml]}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [make]}]}]}}
`)
	s.create(t, kudo+"instances", `
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: app}
spec: {operatorVersion: {name: app-0.1.0}}
`)
	var report console.Report
	waittest.Until(t, "the plan is complete", func() bool {
		report, _ = s.report(t, kudo+"instances/app")
		return len(report.Plans) == 1 && report.Plans[0].Status == api.Complete && report.Running == ""
	})
	if plan := report.Plans[0]; plan.Name != "deploy" || plan.Phases[0].Steps[0].Name != "all" {
		t.Errorf("plan %+v", plan)
	}
}

// testSecrets checks that no answer of the console contains the value of a Secret, also not one
// that is in its annotations.
func testSecrets(t *testing.T, s server) {
	const password = "s3cret-value"
	encoded := base64.StdEncoding.EncodeToString([]byte(password))
	for name, configuration := range map[string]string{
		"applied":   `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"applied"},"data":{"password":"b2xkLXZhbHVl"}}`,
		"malformed": `{"apiVersion":"v1","kind":"Secret","data":{"password":` + encoded + `}}`,
		"wrong":     `{"apiVersion":"v1","kind":"Secret","data":{"password":"` + password + `"}}`,
		"unknown":   `{"apiVersion":"v1","kind":"Secret","` + password + `":1}`,
	} {
		s.create(t, secrets, `
apiVersion: v1
kind: Secret
metadata:
  name: `+name+`
  labels: {team: red}
  annotations:
    copy: `+password+`
    kubectl.kubernetes.io/last-applied-configuration: '`+configuration+`'
immutable: true
stringData: {password: `+password+`}
`)
		report, body := s.report(t, secrets+"/"+name)
		for _, value := range []string{password, encoded, "b2xkLXZhbHVl", "old-value"} {
			if strings.Contains(body, value) {
				t.Errorf("%s: the report contains %s: %s", name, value, body)
			}
		}
		field := slices.IndexFunc(report.Fields, func(f console.Field) bool { return f.Field == ".data.password" })
		if field < 0 || report.Fields[field].Value != "<redacted>" {
			t.Errorf("%s: fields %+v", name, report.Fields)
		}
		// Labels are shown, and annotations are not: docs/decisions/0124-labels-of-secrets-are-shown.md.
		for path, want := range map[string]string{".metadata.labels.team": `"red"`, ".metadata.annotations.copy": "<redacted>"} {
			if at := slices.IndexFunc(report.Fields, func(f console.Field) bool { return f.Field == path }); at < 0 || report.Fields[at].Value != want {
				t.Errorf("%s: %s is not %s: %+v", name, path, want, report.Fields)
			}
		}
		if want := []string{".data flag", ".immutable flag", ".type frozen"}; !cmp.Equal(want, lockLines(report)) {
			t.Errorf("%s: locks %v", name, lockLines(report))
		}
	}
	list := s.send(t, s.admin, http.MethodGet, secrets+"?includeObject=None", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	if list.code != http.StatusOK || !strings.Contains(list.body, "malformed") || strings.Contains(list.body, password) ||
		strings.Contains(list.body, encoded) {
		t.Errorf("the list that the page reads: %d %s", list.code, list.body)
	}
}

func testRights(t *testing.T, s server) {
	const path = configMaps + "/kube-root-ca.crt"
	as := func(user, path string) int { return s.as(t, user, path).code }
	if got := as("nobody", path); got != http.StatusForbidden {
		t.Errorf("a user without roles: %d", got)
	}
	if got := as("nobody", configMaps+"/none"); got != http.StatusForbidden {
		t.Errorf("a user without roles, and an object that does not exist: %d", got)
	}
	if got := as("wrong", path); got != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", got)
	}
	s.allow(t, "reader", rbacv1.PolicyRule{
		Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"kube-root-ca.crt", "none"},
	})
	waittest.Until(t, "the reader gets the report", func() bool { return as("reader", path) == http.StatusOK })
	if got := as("reader", configMaps+"/none"); got != http.StatusNotFound {
		t.Errorf("an object that does not exist: %d", got)
	}
	if got := as("reader", "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt"); got != http.StatusForbidden {
		t.Errorf("an object of another namespace: %d", got)
	}
}

// testHostileText checks that a report is JSON for a browser too, whatever an object contains.
func testHostileText(t *testing.T, s server) {
	const hostile = "<img src=x onerror=alert(1)>"
	s.create(t, "/apis/rbac.authorization.k8s.io/v1/clusterroles?fieldManager=%3Cscript%3Ealert(1)%3C%2Fscript%3E", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "`+hostile+`", annotations: {note: "`+hostile+`"}}
`)
	path := "/apis/rbac.authorization.k8s.io/v1/clusterroles/%3Cimg%20src=x%20onerror=alert(1)%3E"
	got := s.send(t, s.admin, http.MethodGet, path, "Accept", console.MediaType)
	if got.code != http.StatusOK || strings.ContainsAny(got.body, "<>") || !strings.Contains(got.body, `\u003cimg`) ||
		!strings.Contains(got.body, `\u003cscript`) {
		t.Errorf("%d %s", got.code, got.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Set-Cookie": "",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
}

// testOtherRequests checks requests that are not for a report.
func testOtherRequests(t *testing.T, s server) {
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	const namespace = "/api/v1/namespaces/default"
	v2 := strings.Replace(console.MediaType, "v1", "v2", 1)
	for name, test := range map[string]struct {
		method, path, accept string
		code                 int
		want                 string
	}{
		"the object":       {http.MethodGet, namespace, "application/json", http.StatusOK, `"kind":"Namespace"`},
		"a table":          {http.MethodGet, namespace, table, http.StatusOK, `"kind":"Table"`},
		"one of two":       {http.MethodGet, namespace, console.MediaType + ",application/json", http.StatusOK, `"kind":"Namespace"`},
		"another version":  {http.MethodGet, namespace, v2, http.StatusNotAcceptable, ""},
		"a list":           {http.MethodGet, "/api/v1/namespaces", console.MediaType, http.StatusNotAcceptable, ""},
		"a subresource":    {http.MethodGet, namespace + "/status", console.MediaType, http.StatusNotAcceptable, ""},
		"a custom list":    {http.MethodGet, "/apis/kudo.dev/v1beta1/instances", console.MediaType, http.StatusNotAcceptable, ""},
		"an absent object": {http.MethodGet, configMaps + "/none", console.MediaType, http.StatusNotFound, `"reason":"NotFound"`},
		"a deletion":       {http.MethodDelete, configMaps + "/none", console.MediaType, http.StatusNotAcceptable, ""},
	} {
		got := s.send(t, s.admin, test.method, test.path, "Accept", test.accept)
		if got.code != test.code || !strings.Contains(got.body, test.want) {
			t.Errorf("%s: %d, want %d: %s", name, got.code, test.code, got.body)
		}
	}
}
