package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/waittest"
)

// series returns the path of the list of a series.
func series(resource, name string) string {
	return "/api/v1/namespaces/default/" + resource + "?labelSelector=" + url.QueryEscape("holdfast.dev/series="+name)
}

// TestSeries checks the versions of a series: their order, and what the server does with them.
func TestSeries(t *testing.T) {
	t.Parallel()
	s := start(t, apiserver.Config{Console: true})
	s.write(t, http.MethodPatch, "/api/v1/namespaces/default", "application/merge-patch+json",
		`{"metadata":{"labels":{"holdfast.dev/collect":"unused"},"annotations":{"holdfast.dev/keep-last":"1"}}}`)
	for _, object := range []string{"name: settings", "name: settings-1", "name: settings-2, annotations: {holdfast.dev/keep: always}", "name: settings-3"} {
		s.create(t, "/api/v1/namespaces/default/configmaps",
			"{apiVersion: v1, kind: ConfigMap, immutable: true, data: {k: value-of-the-test}, metadata: {labels: {holdfast.dev/series: settings}, "+object+"}}")
	}
	s.create(t, "/api/v1/namespaces/default/configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, labels: {holdfast.dev/series: other}}}")
	s.create(t, "/api/v1/namespaces/default/podtemplates", "{apiVersion: v1, kind: PodTemplate, metadata: {name: web}, template: {spec: "+
		"{containers: [{name: c, image: i, envFrom: [{configMapRef: {name: settings}}]}]}}}")
	waittest.Until(t, "the versions of the series", func() error {
		got := s.send(t, s.admin, http.MethodGet, series("configmaps", "settings"), "Accept", console.SeriesType)
		var found console.Series
		if err := json.Unmarshal([]byte(got.body), &found); err != nil || got.code != http.StatusOK || found.Kind != "Series" {
			t.Fatalf("%d %v %s", got.code, err, got.body)
		}
		if strings.Contains(got.body, "value-of-the-test") || got.header.Get("Content-Security-Policy") == "" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("answer %v %s", got.header, got.body)
		}
		var lines []string
		for _, member := range found.Members {
			lines = append(lines, fmt.Sprintf("%s unused=%v goes=%v %s", member.Name, member.Unused != nil, member.Goes != nil, member.Stays))
			if member.Created.IsZero() || member.UID == "" || !member.Immutable || member.Marked {
				t.Errorf("member %+v", member)
			}
			if member.Goes != nil && member.Goes.Sub(*member.Unused).Minutes() != 61 {
				t.Errorf("%s goes after %v", member.Name, member.Goes.Sub(*member.Unused))
			}
		}
		if got, want := strings.Join(lines, "\n"), strings.TrimSpace(`
settings-3 unused=true goes=false it is the newest of its series
settings-2 unused=true goes=false the annotation holdfast.dev/keep keeps it
settings-1 unused=true goes=true 
settings unused=false goes=false an object refers to it`); got != want {
			return fmt.Errorf("versions\n%s\nwant\n%s", got, want)
		}
		return nil
	})
	if report, _ := s.report(t, "/api/v1/namespaces/default/configmaps/settings-1"); report.Object.Series != "settings" {
		t.Errorf("the report names the series %q", report.Object.Series)
	}
}

// TestSeriesRequests checks which requests the server refuses, and that an answer has nothing of a Secret but names.
func TestSeriesRequests(t *testing.T) {
	t.Parallel()
	s := start(t, apiserver.Config{Console: true})
	s.create(t, "/api/v1/namespaces/default/secrets", "{apiVersion: v1, kind: Secret, immutable: true, stringData: {k: hidden-value}, metadata: {name: db-1, "+
		"labels: {holdfast.dev/series: db}, annotations: {kubectl.kubernetes.io/last-applied-configuration: hidden-annotation}}}")
	s.allow(t, "reader", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
	get := func(user, path string) answer {
		return s.send(t, s.anonymous, http.MethodGet, path, "Accept", console.SeriesType, "Authorization", "Bearer "+user+"-token")
	}
	waittest.Until(t, "a user who may list Secrets gets the series", func() bool {
		got := get("reader", series("secrets", "db"))
		return got.code == http.StatusOK && strings.Contains(got.body, `"name":"db-1"`)
	})
	if got := get("reader", series("secrets", "db")); strings.Contains(got.body, "hidden") || strings.Contains(got.body, "aGlkZGVu") {
		t.Errorf("the answer has values: %s", got.body)
	}
	if got := get("reader", series("secrets", "none")); got.code != http.StatusOK || !strings.Contains(got.body, `"members":[]`) {
		t.Errorf("a series without versions: %d %s", got.code, got.body)
	}
	if got := get("nobody", series("secrets", "db")); got.code != http.StatusForbidden {
		t.Errorf("a user without roles: %d %s", got.code, got.body)
	}
	for _, selector := range []string{"", "app=web", "holdfast.dev/series", "holdfast.dev/series!=a", "holdfast.dev/series=a,app=web", "holdfast.dev/series in (a,b)", "=="} {
		path := "/api/v1/namespaces/default/configmaps?labelSelector=" + url.QueryEscape(selector)
		if got := s.send(t, s.admin, http.MethodGet, path, "Accept", console.SeriesType); got.code != http.StatusBadRequest ||
			!strings.Contains(got.body, "labelSelector: must be holdfast.dev/series=NAME") {
			t.Errorf("%q: %d %s", selector, got.code, got.body)
		}
	}
	// Other lists have no such form.
	for _, path := range []string{"/api/v1/configmaps?labelSelector=holdfast.dev%2Fseries=a", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps/x"} {
		if got := s.send(t, s.admin, http.MethodGet, path, "Accept", console.SeriesType); got.code != http.StatusNotAcceptable {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
}
