package console_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/waittest"
)

// overview returns what the administrator reads about the objects of a list whose names begin so.
func (s server) overview(t *testing.T, path, prefix string) ([]console.Remark, string) {
	t.Helper()
	// For a browser, the library indents the objects of a list.
	got := s.send(t, s.admin, http.MethodGet, path, "Accept", console.OverviewType, "User-Agent", "Mozilla/5.0")
	var list console.Overview
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.code != http.StatusOK || list.Kind != "Overview" {
		t.Fatalf("%s: %d %v %s", path, got.code, err, got.body)
	}
	return slices.DeleteFunc(list.Items, func(r console.Remark) bool { return !strings.HasPrefix(r.Name, prefix) }), got.body
}

// testOverview looks at the remarks about objects of each kind: one for each object with something to say, and none for the others.
func testOverview(t *testing.T, s server) {
	const applied = `kubectl.kubernetes.io/last-applied-configuration`
	s.create(t, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: seen-1}, immutable: true, data: {k: Zmlyc3QtdmFsdWU=}}`)
	s.create(t, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: seen-2}}`)
	s.create(t, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: seen-3, annotations: {holdfast.dev/keep: always, `+applied+
		`: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"seen-3","namespace":"default"},"data":{"k":"Zmlyc3QtdmFsdWU="}}'}}, data: {k: c2Vjb25kLXZhbHVl}}`)
	found, body := s.overview(t, secrets, "seen-")
	want := []console.Remark{
		{Namespace: "default", Name: "seen-1", Immutable: true},
		{Namespace: "default", Name: "seen-3", Kept: "always", Drift: []string{".data.k"}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	for _, value := range []string{"Zmlyc3QtdmFsdWU", "c2Vjb25kLXZhbHVl"} {
		if strings.Contains(body, value) {
			t.Errorf("the answer has the value %s: %s", value, body)
		}
	}
	s.create(t, definitions, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: seens.example.org, annotations: {holdfast.dev/immutability: "no-delete unless scrap"}}
spec:
  group: example.org
  names: {plural: seens, kind: Seen}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {hull: {type: string, x-kubernetes-immutable: true}}}}
`)
	found, _ = s.overview(t, definitions, "seens.")
	want = []console.Remark{{
		Name: "seens.example.org", Marked: 1, Rules: []string{"no-delete unless scrap"},
		Findings: []string{"version v1: a marked field can be changed in two allowed writes"},
	}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
	const policies = "/apis/guard.holdfast.dev/v1beta1/immutabilitypolicies"
	s.create(t, policies, `{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: seen}, spec: {mode: warn, resources: [services], `+
		`rules: [immutable spec.clusterIP], structuredRules: [{constraint: no-delete, unless: scrap}]}}`)
	found, _ = s.overview(t, policies, "seen")
	want = []console.Remark{{
		Name: "seen", Resources: []string{"services"}, Rules: []string{"immutable spec.clusterIP", "no-delete unless scrap"}, Warns: true,
	}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	const pods = "/api/v1/namespaces/default/pods"
	s.create(t, pods, `{apiVersion: v1, kind: Pod, metadata: {name: seen}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}`)
	s.write(t, http.MethodPatch, pods+"/seen/status", mergePatch, `{"status":{"conditions":[
{"type":"holdfast.dev/VolumesReady","status":"False","message":"volume v: no space"},
{"type":"holdfast.dev/Pinned","status":"True","message":"secrets/seen-1 1c5ab40c, configmaps/seen-gone 77ab"}]}}`)
	want = []console.Remark{{Namespace: "default", Name: "seen", Node: "node-1", Files: []string{
		"not all volumes are up to date: volume v: no space", "the pod has files of Secret seen-1, which was replaced by another one",
		"the pod has files of ConfigMap seen-gone, which does not exist any more",
	}}}
	waittest.Until(t, "the server knows what the pod has files of", func() bool {
		found, _ = s.overview(t, pods, "seen")
		return cmp.Diff(want, found) == ""
	})
}

// testOverviewRights checks that a user who may list the pods does not learn from the overview which Secrets exist, and that a user without
// roles gets the refusal of the server.
func testOverviewRights(t *testing.T, s server) {
	const pods = "/api/v1/namespaces/default/pods"
	s.create(t, pods, `{apiVersion: v1, kind: Pod, metadata: {name: hidden}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}`)
	s.write(t, http.MethodPatch, pods+"/hidden/status", mergePatch,
		`{"status":{"conditions":[{"type":"holdfast.dev/Pinned","status":"True","message":"secrets/hidden-gone 77ab"}]}}`)
	waittest.Until(t, "the administrator sees the old files", func() bool {
		found, _ := s.overview(t, pods, "hidden")
		return len(found) == 1
	})
	s.allow(t, "reader", rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}})
	as := func(user, path string) answer {
		return s.send(t, s.anonymous, http.MethodGet, path, "Accept", console.OverviewType, "Authorization", "Bearer "+user+"-token")
	}
	waittest.Until(t, "the reader may list pods", func() bool { return as("reader", pods).code == http.StatusOK })
	if got := as("reader", pods); strings.Contains(got.body, "hidden") {
		t.Errorf("the reader may not get Secrets, and sees %s", got.body)
	}
	if got := as("nobody", pods); got.code != http.StatusForbidden || !strings.Contains(got.body, `cannot list resource \"pods\"`) {
		t.Errorf("without a role: %d %s", got.code, got.body)
	}
	if got := as("reader", "/api/v1/pods"); got.code != http.StatusForbidden {
		t.Errorf("in all namespaces: %d", got.code)
	}
}

// testObjects lists the objects of several namespaces, in parts and by name, without their content.
func testObjects(t *testing.T, s server) {
	s.create(t, "/api/v1/namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: harbour}}`)
	for _, name := range []string{"listed-1", "listed-2"} {
		s.create(t, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: `+name+`, annotations: {note: Zmlyc3QtdmFsdWU}}, data: {k: Zmlyc3QtdmFsdWU=}}`)
	}
	s.create(t, "/api/v1/namespaces/harbour/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: listed-3}}`)
	list := func(query string) console.Objects {
		got := s.send(t, s.admin, http.MethodGet, "/api/v1/secrets?"+query, "Accept", console.ObjectsType)
		var list console.Objects
		if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.code != http.StatusOK || list.Kind != "Objects" {
			t.Fatalf("%d %v %s", got.code, err, got.body)
		}
		if strings.Contains(got.body, "Zmlyc3QtdmFsdWU") {
			t.Errorf("the answer has a value: %s", got.body)
		}
		return list
	}
	found := list("name=LISTED-")
	want := []console.Row{
		{Namespace: "default", Name: "listed-1"}, {Namespace: "default", Name: "listed-2"}, {Namespace: "harbour", Name: "listed-3"},
	}
	if diff := cmp.Diff(want, found.Items, cmpopts.IgnoreFields(console.Row{}, "Cells")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Type", "Data", "Age"}, found.Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if len(found.Items[0].Cells) != 3 || found.Items[0].Cells[0] != "Opaque" {
		t.Errorf("cells %v", found.Items[0].Cells)
	}
	part := list("limit=1")
	if part.Looked != 1 || part.Continue == "" {
		t.Errorf("the first part has %d objects, and goes on at %q", part.Looked, part.Continue)
	}
}
