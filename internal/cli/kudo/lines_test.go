package kudo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testKudoLines runs command lines as people write them for KUDO 0.19.
func testKudoLines(t *testing.T, c cluster) {
	location := tok(t, "0.1.0", first)
	contains := func(want string, args ...string) {
		t.Helper()
		if out := c.must(t, args...); !strings.Contains(out, want) {
			t.Errorf("kudo %s: %q is not in:\n%s", strings.Join(args, " "), want, out)
		}
	}
	contains("operator version tok-1.0-0.1.0 is in namespace kudo-lines\n", "install", location, "--skip-instance")
	if got := c.names(t, "instances"); got != "" {
		t.Errorf("--skip-instance installed %s", got)
	}
	c.fails(t, "there is no such version of operator tok", "install", "tok", "--in-cluster", "--operator-version", "9.0.0", "-p", "REALM=r")
	contains("instance tok-instance of tok-1.0-0.1.0 installed\n",
		"install", "tok", "--in-cluster", "-p", "REALM=r", "--wait", "--wait-time", "60")
	c.fails(t, "give the name of an instance", "update", "-p", "SIZE=4")
	contains("instance tok-instance updated\n", "update", "--instance", "tok-instance", "-p", "SIZE=4", "--wait")
	c.fails(t, "give the name of one plan", "plan", "trigger", "--instance", "tok-instance")
	contains("plan backup of instance tok-instance triggered\n",
		"plan", "trigger", "--instance", "tok-instance", "--name", "backup", "--wait")
	contains(`"backup": {`, "plan", "status", "--instance=tok-instance", "-o", "json")
	contains("backup   COMPLETE", "plan", "history", "--instance=tok-instance")
	contains("backup   COMPLETE", "plan", "history", "tok-1.0-0.1.0", "--instance=tok-instance")
	contains("backup [COMPLETE]\n", "plan", "wait", "--instance=tok-instance", "--wait-time", "60")
	c.must(t, "plan", "trigger", "--instance", "tok-instance", "--name", "break")
	c.fails(t, "plan 'break' ended with FATAL_ERROR: save.copy: task fail: the task is meant to fail for good",
		"plan", "wait", "--instance=tok-instance")
	contains("tok\n  tok-1.0-0.1.0\n    tok-instance\n", "get", "all")
	contains("kind: List\n", "get", "instances", "-o", "yaml")
	contains(`"kind": "OperatorVersion"`, "get", "all", "-o", "json")
	c.fails(t, "json or yaml", "get", "instances", "-o", "xml")
	contains("instance tok-instance upgraded to tok-1.0-0.2.0\n",
		"upgrade", tok(t, "0.2.0", second), "--instance", "tok-instance", "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l", "--wait")
	contains("instance tok-instance is gone\n", "uninstall", "--instance", "tok-instance", "--wait", "--wait-time", "60")

	made := c
	made.Namespace = "kudo-lines-made"
	made.must(t, "install", folder(t, map[string]string{
		"operator.yaml":        parent("spaced", "0.1.0") + "namespaceManifest: space.yaml\n",
		"params.yaml":          "parameters: [{name: TEAM, default: blue}]",
		"templates/space.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: any, labels: {team: '{{ .Params.TEAM }}'}}}",
	}), "--create-namespace", "-p", "TEAM=red")
	space, err := c.CoreV1().Namespaces().Get(t.Context(), made.Namespace, metav1.GetOptions{})
	if err != nil || space.Labels["team"] != "red" {
		t.Errorf("the namespace has the labels %v, %v", space.Labels, err)
	}
	made.fails(t, "already exists", "install", location, "--create-namespace", "-p", "REALM=r")
}

// TestKudoLinesOffline runs command lines of KUDO 0.19 that need no server. It changes the current
// folder, so it does not run in parallel.
func TestKudoLinesOffline(t *testing.T) {
	location := folder(t, map[string]string{
		"operator.yaml": "name: lists\noperatorVersion: 0.1.0\ntasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]\n" +
			"plans: {deploy: {phases: [{name: main, steps: [{name: s, tasks: [a]}]}]}}\n",
		"params.yaml":      "parameters: [{name: A, default: x, description: The first}, {name: B}, {name: C, type: array}]",
		"templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Params.A }}{{ .Params.B }}{{ .Params.C }}'}}",
	})
	repositories := filepath.Join(t.TempDir(), "list.yaml")
	one, two := t.TempDir(), t.TempDir()
	offline(t, "package", "create", location, "-d", one, "--overwrite")
	offline(t, "repo", "index", one, "-w")
	offline(t, "repo", "index", two)
	offline(t, "repo", "add", "two", two, "--repositories", repositories)
	offline(t, "repo", "add", "one", one, "--repositories", repositories)
	offline(t, "package", "new", filepath.Join(one, "fresh"))
	offline(t, "package", "new", filepath.Join(one, "fresh"), "--overwrite")
	tests := map[string]struct {
		args []string
		want string
	}{
		"names": {[]string{"package", "list", "parameters", location, "--names"}, "Name\nA\nB\nC"},
		"required": {
			[]string{"package", "list", "parameters", location, "-r"},
			"Name   Default   Required   Immutable\nB      -         true       false",
		},
		"descriptions": {
			[]string{"package", "list", "parameters", location, "-r", "-d"},
			"Name   Default   Required   Immutable   Description\nB      -         true       false       ",
		},
		"none required": {[]string{"package", "list", "parameters", filepath.Join(one, "fresh"), "--required"}, "no parameter needs a value"},
		"plans": {
			[]string{"package", "list", "plans", location, "--with-tasks-resources"},
			"Plan              Phase           Step   Tasks\ndeploy (serial)   main (serial)   s      a (Apply a.yaml)",
		},
		"merge":   {[]string{"repo", "index", two, "--merge", one}, filepath.Join(two, "index.yaml") + " written (packages: 1)"},
		"context": {[]string{"repo", "context", "one", "--repositories", repositories}, "repository one is the first of the list"},
	}
	for name, test := range tests {
		if out := offline(t, test.args...); out != strings.TrimSpace(test.want) {
			t.Errorf("%s: got:\n%s", name, out)
		}
	}
	web := filepath.Join(t.TempDir(), "web.yaml")
	writeFile(t, web, "repositories: [{name: web, url: 'https://example.com/operators'}, {name: folder, url: /srv}]\n")
	offline(t, "repo", "index", one, "--url-repo", "web", "--repositories", web)
	if text, err := os.ReadFile(filepath.Join(one, "index.yaml")); err != nil ||
		!strings.Contains(string(text), "- https://example.com/operators/lists-0.1.0.tgz\n") {
		t.Errorf("--url-repo: %v\n%s", err, text)
	}
	for args, want := range map[string]string{
		"--url-repo wed":                           `there is no repository "wed": "holdfast kudo repo list" lists those that exist: did you mean web?`,
		"--url-repo folder":                        "repository folder is the folder /srv and has no URL: give one with --url",
		"--url-repo web --url https://example.com": "none of the others can be",
	} {
		line := append([]string{"repo", "index", one, "--repositories", web}, strings.Fields(args)...)
		if _, err := run(t.Context(), line...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	offline(t, "repo", "index", one)
	t.Chdir(location)
	if out := offline(t, "package", "list", "tasks"); out != "Name   Kind    Uses\na      Apply   a.yaml" {
		t.Errorf("tasks of the current folder:\n%s", out)
	}
	if out := offline(t, "repo", "list", "--repositories", repositories); strings.Index(out, "one ") > strings.Index(out, "two ") {
		t.Errorf("repositories:\n%s", out)
	}
	if out := offline(t, "package", "verify", "lists", "--repo", two); out != "package lists-0.1.0 is valid (warnings: 0)" {
		t.Errorf("a package of a merged index: %s", out)
	}
	if out := offline(t, "version", "-o", "json"); !strings.Contains(out, `"gitVersion"`) {
		t.Errorf("version: %s", out)
	}
}
