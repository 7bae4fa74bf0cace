package kudo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
)

// parent is the operator.yaml of a package that needs others, each named as a
// package and, behind a space, its version.
func parent(name, version string, needed ...string) string {
	var steps, tasks []string
	for i, each := range needed {
		pkg, exact, _ := strings.Cut(each, " ")
		steps = append(steps, fmt.Sprintf("{name: s%d, tasks: [t%d]}", i, i))
		tasks = append(tasks, fmt.Sprintf("{name: t%d, kind: KudoOperator, spec: {package: %q, operatorVersion: %q}}", i, pkg, exact))
	}
	if needed == nil {
		steps, tasks = []string{"{name: s, tasks: [t]}"}, []string{"{name: t, kind: Dummy, spec: {done: true}}"}
	}
	return fmt.Sprintf("name: %s\noperatorVersion: %s\ntasks: [%s]\nplans: {deploy: {phases: [{name: main, steps: [%s]}]}}\n",
		name, version, strings.Join(tasks, ", "), strings.Join(steps, ", "))
}

// repository makes one of some operator.yaml.
func repository(t *testing.T, operators ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, text := range operators {
		offline(t, "package", "create", folder(t, map[string]string{"operator.yaml": text}), "-d", root)
	}
	offline(t, "repo", "index", root)
	return root
}

const bundledChild = `
name: child
operatorVersion: 0.1.0
tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}
`

const bundledParent = `
name: parent
operatorVersion: 0.1.0
tasks: [{name: child, kind: KudoOperator, spec: {package: ./child, parameterFile: child.yaml}}]
plans: {deploy: {phases: [{name: main, steps: [{name: child, tasks: [child]}]}]}}
`

// testBundled: a package in a folder of another is installed with it, all or
// nothing, and goes with it.
func testBundled(t *testing.T, w world) {
	files := map[string]string{
		"operator.yaml": bundledParent, "params.yaml": "parameters: [{name: SIZE, default: 7, type: integer}]",
		"templates/child.yaml":      "SIZE: {{ .Params.SIZE }}",
		"child/operator.yaml":       bundledChild,
		"child/params.yaml":         "parameters: [{name: SIZE, default: 1, type: integer, immutable: true}]",
		"child/templates/a.yaml":    "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {size: '{{ .Params.SIZE }}'}}",
		"unrelated/operator.yaml":   "name: unrelated",
		"child/docs/operator.yaml":  "name: unrelated",
		"child/templates/README.md": "words",
	}
	root := folder(t, files)
	w.fails(t, "Bad_Name", "install", root, "--instance", "Bad_Name")
	if got := w.names(t, "operators") + w.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	// The .tgz has it too.
	archive := offline(t, "package", "create", root, "-d", t.TempDir())
	out := w.must(t, "install", archive, "--instance", "top", "--wait")
	if !strings.Contains(out, "deploy [COMPLETE]\n") {
		t.Errorf("got:\n%s", out)
	}
	if got := w.names(t, "operators") + ", " + w.names(t, "operatorversions"); got != "child parent, child-0.1.0 parent-0.1.0" {
		t.Errorf("there are %s", got)
	}
	if diff := cmp.Diff(map[string]string{"SIZE": "7"}, w.instance(t, "top-child").Spec.Parameters); diff != "" {
		t.Errorf("values of the dependency (-want +got):\n%s", diff)
	}
	if got := w.configMap(t, "top-child").Data["size"]; got != "7" {
		t.Errorf("size %s", got)
	}
	// The folder is the same package, and another instance has one of its own.
	w.must(t, "install", root, "--instance", "second", "--wait")
	w.configMap(t, "second-child")

	w.must(t, "uninstall", "top", "--wait")
	servertest.Eventually(t, "the dependency is gone", func() bool {
		_, err := w.client.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), "top-child", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	// What is wrong inside is wrong outside.
	files["child/params.yaml"] = "parameters: [{name: SIZE, type: odd}]"
	w.fails(t, `child/params.yaml: parameters[0].type: "odd" is not one of`, "install", folder(t, files), "--instance", "third")
}

func (w world) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	found, err := w.client.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// testGuestbook: the example brings its store, which keeps what is immutable.
func testGuestbook(t *testing.T, w world) {
	example := filepath.Join("..", "..", "examples", "operators", "guestbook", "0.1.0")
	if out := offline(t, "package", "verify", example); out != "package guestbook-1.0.0-0.1.0 is valid (warnings: 0)" {
		t.Error(out)
	}
	w.must(t, "install", example, "-p", "STORE_PATH=/srv", "--wait")
	if got := w.configMap(t, "guestbook-store").Data["path"]; got != "/srv" {
		t.Errorf("path %s", got)
	}
	w.fails(t, "parameter 'STORE_PATH' is immutable but was changed from '/srv' to '/mnt'", "update", "guestbook", "-p", "STORE_PATH=/mnt")
	w.must(t, "update", "guestbook", "-p", "TITLE=Hello", "--wait")
}

// testNeeded: packages by name come from the repository, or are on the server; the
// version that was found stays.
func testNeeded(t *testing.T, w world) {
	top := folder(t, map[string]string{"operator.yaml": parent("top", "0.1.0", "leaf")})
	w.fails(t, "package top-0.1.0: task t0: there is no repository: add one, and no such version of operator leaf in namespace needed", "install", top)

	older := repository(t, parent("leaf", "0.1.0"), parent("leaf", "0.2.0"))
	w.fails(t, `package top-0.1.0: task t0: there is no such version of package "leaf" in the repository, only leaf-0.2.0, leaf-0.1.0, and no such version`,
		"install", folder(t, map[string]string{"operator.yaml": parent("top", "0.1.0", "leaf 0.9.0")}), "--repo", older)
	if got := w.names(t, "operators") + w.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	w.must(t, "install", top, "--repo", older, "--wait")
	if got := w.instance(t, "top-leaf").Spec.OperatorVersion.Name; got != "leaf-0.2.0" {
		t.Errorf("installed %s", got)
	}

	// A newer one in the repository, and on the server, is not what top was installed with.
	newer := repository(t, parent("leaf", "0.2.0"), parent("leaf", "0.3.0"))
	w.must(t, "install", top, "--repo", newer, "--instance", "again", "--wait")
	w.must(t, "install", folder(t, map[string]string{"operator.yaml": parent("leaf", "0.3.0")}), "--wait")
	w.must(t, "plan", "trigger", "top", "deploy", "--wait")
	for _, name := range []string{"top-leaf", "again-leaf"} {
		if got := w.instance(t, name).Spec.OperatorVersion.Name; got != "leaf-0.2.0" {
			t.Errorf("%s is %s", name, got)
		}
	}

	// What is on the server need not be in a repository.
	for name, needed := range map[string]string{"any": "leaf", "exact": "leaf 0.2.0"} {
		w.must(t, "install", folder(t, map[string]string{"operator.yaml": parent(name, "0.1.0", needed)}), "--wait")
	}
	for name, want := range map[string]string{"any": "0.3.0", "exact": "0.2.0"} {
		version := &api.OperatorVersion{}
		w.read(t, "operatorversions", name+"-0.1.0", version)
		if got := version.Spec.Tasks[0].Spec.OperatorVersion; got != want {
			t.Errorf("%s needs %s", name, got)
		}
	}
}

// read reads an object.
func (w world) read(t *testing.T, resource, name string, into any) {
	t.Helper()
	found, err := w.resource(resource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, into); err != nil {
		t.Fatal(err)
	}
}

// testCircles: what has no end is refused, with nothing written.
func testCircles(t *testing.T, w world) {
	circle := repository(t, parent("a", "0.1.0", "b"), parent("b", "0.1.0", "c"), parent("c", "0.1.0", "a"))
	w.fails(t, "packages depend on each other in a circle: a-0.1.0 -> b-0.1.0 -> c-0.1.0 -> a-0.1.0", "install", "a", "--repo", circle)

	var chain []string
	for i := range 9 {
		chain = append(chain, parent(fmt.Sprintf("p%d", i), "0.1.0", fmt.Sprintf("p%d", i+1)))
	}
	deep := repository(t, append(chain, parent("p9", "0.1.0"))...)
	w.fails(t, "more than 8 packages depend on one another: p0-0.1.0 -> p1-0.1.0 -> ", "install", "p0", "--repo", deep)

	wide, names := map[string]string{}, []string{}
	for i := range 64 {
		name := fmt.Sprintf("w%d", i)
		wide[name+"/operator.yaml"] = parent(name, "0.1.0")
		names = append(names, "./"+name)
	}
	wide["operator.yaml"] = parent("wide", "0.1.0", names...)
	w.fails(t, "package wide-0.1.0: more than 64 packages are needed", "install", folder(t, wide))

	twice := folder(t, map[string]string{
		"operator.yaml": parent("top", "0.1.0", "./a", "./b"), "a/operator.yaml": parent("same", "0.1.0"), "b/operator.yaml": parent("same", "0.1.0", "leaf 0.1.0"),
	})
	w.fails(t, "package same-0.1.0 is needed more than once, with different content", "install", twice, "--repo", repository(t, parent("leaf", "0.1.0")))
	if got := w.names(t, "operators") + w.names(t, "operatorversions") + w.names(t, "instances"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	// As deep as it may be, and what two need is there once.
	w.must(t, "install", "p2", "--repo", deep)
	if got := len(strings.Fields(w.names(t, "operatorversions"))); got != 8 {
		t.Errorf("%d operator versions", got)
	}
}

// testUpgradeWithDependency: an upgrade brings the new version of what it needs. The
// parameter file of its task gives the values that become immutable there.
func testUpgradeWithDependency(t *testing.T, w world) {
	build := func(number, childNumber, childParams string) string {
		return folder(t, map[string]string{
			"operator.yaml":          strings.Replace(bundledParent, "0.1.0", number, 1),
			"templates/child.yaml":   "SIZE: 7\n",
			"child/operator.yaml":    strings.Replace(bundledChild, "0.1.0", childNumber, 1),
			"child/params.yaml":      "parameters: [" + childParams + "]",
			"child/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {size: '{{ .Params.SIZE }}', version: '{{ .OperatorVersion }}'}}",
		})
	}
	w.must(t, "install", build("0.1.0", "0.1.0", "{name: SIZE, default: 1}"), "--wait")
	next := build("0.2.0", "0.2.0", "{name: SIZE, default: 1, immutable: true}")
	out := w.must(t, "upgrade", next, "--dry-run")
	for _, want := range []string{"+++ Instance.kudo.dev parent-child\n", "-    name: child-0.1.0\n", "+    name: child-0.2.0\n", "resources: 1 differ, 0 stay as they are\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if got := w.names(t, "operatorversions"); got != "child-0.1.0 parent-0.1.0" {
		t.Errorf("a dry run left %s", got)
	}
	w.must(t, "upgrade", next, "--wait")
	if diff := cmp.Diff(map[string]string{"size": "7", "version": "0.2.0"}, w.configMap(t, "parent-child").Data); diff != "" {
		t.Errorf("the dependency (-want +got):\n%s", diff)
	}
	// What it does not give is refused there, and said here.
	third := build("0.3.0", "0.3.0", "{name: SIZE, default: 1, immutable: true}, {name: NEW, default: d, immutable: true}")
	w.fails(t, "parameter 'NEW' was added in operator version 0.3.0, but no value was provided (default would be d)", "upgrade", third, "--wait")
	// It goes back with what needs it, to the version that it had with that.
	w.must(t, "rollback", "parent", "--wait")
	if got := w.instance(t, "parent-child").Spec.OperatorVersion.Name; got != "child-0.2.0" {
		t.Errorf("the dependency is %s", got)
	}
	w.must(t, "rollback", "parent", "--wait")
	if diff := cmp.Diff(map[string]string{"size": "7", "version": "0.1.0"}, w.configMap(t, "parent-child").Data); diff != "" {
		t.Errorf("the dependency (-want +got):\n%s", diff)
	}
	// A version on the server that is another one is refused before anything is written.
	if err := os.WriteFile(filepath.Join(next, "child", "params.yaml"), []byte("parameters: [{name: SIZE, default: 2, immutable: true}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fails(t, "operator version child-0.2.0 is in namespace dependency already, with other content", "install", next, "--instance", "another")
}
