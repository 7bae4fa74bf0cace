package console_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/apiserver/refused"
	"holdfast.dev/holdfast/internal/waittest"
)

// refusedWrites returns the refused writes to objects whose names begin so, as a user sees them.
func (s server) refusedWrites(t *testing.T, user, prefix string) ([]refused.Write, string) {
	t.Helper()
	client, header := s.anonymous, "Bearer "+user+"-token"
	if user == "" {
		client, header = s.admin, ""
	}
	got := s.send(t, client, http.MethodGet, console.RefusedPath, "Authorization", header)
	var list console.RefusedWriteList
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.code != http.StatusOK || list.Kind != "RefusedWriteList" {
		t.Fatalf("%d %v %s", got.code, err, got.body)
	}
	return slices.DeleteFunc(list.Items, func(w refused.Write) bool { return !strings.HasPrefix(w.Name, prefix) }), got.body
}

// refuse sends a write of the administrator that the server refuses.
func (s server) refuse(t *testing.T, method, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", mergePatch)
	resp, err := s.admin.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode < http.StatusBadRequest {
		t.Fatalf("%s %s: %d, want a refusal", method, path, resp.StatusCode)
	}
}

// testRefused looks at refused writes: who sees them, and that no value is among them.
func testRefused(t *testing.T, s server) {
	s.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: refused-1}, immutable: true, data: {k: first-value}}`)
	s.create(t, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: refused-2}, immutable: true, data: {k: Zmlyc3QtdmFsdWU=}}`)
	s.create(t, deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: refused-3, annotations: {holdfast.dev/keep: always}}, spec: {
selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	for range 2 {
		s.refuse(t, http.MethodPatch, configMaps+"/refused-1", `{"data":{"k":"second-value"}}`)
	}
	s.refuse(t, http.MethodPatch, configMaps+"/refused-1?dryRun=All", `{"data":{"dry":"second-value"}}`)
	s.refuse(t, http.MethodPatch, secrets+"/refused-2", `{"stringData":{"k":"second-value"}}`)
	s.refuse(t, http.MethodPatch, deployments+"/refused-3", `{"spec":{"selector":{"matchLabels":{"a":"second-value"}}}}`)
	s.refuse(t, http.MethodDelete, deployments+"/refused-3", "")
	all, body := s.refusedWrites(t, "", "refused-")
	var lines []string
	for _, w := range all {
		lines = append(lines, strings.Join([]string{w.Verb, w.Resource, w.Namespace, w.Name, string(w.Protection), strings.Join(w.Fields, " ")}, "|"))
	}
	slices.Sort(lines)
	want := []string{
		"delete|deployments|default|refused-3|kept-object|",
		"patch|configmaps|default|refused-1|immutable-config|data",
		"patch|deployments|default|refused-3|built-in-field|spec.selector",
		"patch|secrets|default|refused-2|immutable-config|data",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("refused writes\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for _, value := range []string{"first-value", "second-value", "Zmlyc3QtdmFsdWU"} {
		if strings.Contains(body, value) {
			t.Errorf("the answer has the value %s: %s", value, body)
		}
	}
	report, _ := s.report(t, configMaps+"/refused-1")
	if len(report.Refused) != 1 || report.Refused[0].Count != 2 || report.Refused[0].User != "holdfast-admin" {
		t.Errorf("the report has %+v, want one write of holdfast-admin, twice", report.Refused)
	}
	if found, _ := s.refusedWrites(t, "nobody", ""); len(found) != 0 {
		t.Errorf("a user without roles sees %+v", found)
	}
	s.allow(t, "auditor", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"refused-2"}})
	waittest.Until(t, "the auditor sees the write to the Secret, and no other", func() bool {
		found, _ := s.refusedWrites(t, "auditor", "refused-")
		return len(found) == 1 && found[0].Name == "refused-2"
	})
	if got := s.send(t, s.anonymous, http.MethodGet, console.RefusedPath); got.code != http.StatusUnauthorized {
		t.Errorf("without a credential: %d", got.code)
	}
	if got := s.send(t, s.admin, http.MethodPost, console.RefusedPath); got.code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got.code)
	}
}
