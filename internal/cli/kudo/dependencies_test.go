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

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

// parent returns the operator.yaml of a package that depends on others. Each of these is
// "NAME" or "NAME VERSION".
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

// repository creates a repository with a package for each operator.yaml and returns its path.
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

// testBundled checks that a bundled package is installed together with the package that
// contains it, or not at all, and that its Instance is deleted together with its owner.
func testBundled(t *testing.T, c cluster) {
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
	c.fails(t, "Bad_Name", "install", root, "--instance", "Bad_Name")
	if got := c.names(t, "operators") + c.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	// The archive contains the bundled package too.
	archive := offline(t, "package", "create", root, "-d", t.TempDir())
	out := c.must(t, "install", archive, "--instance", "top", "--wait")
	if !strings.Contains(out, "deploy [COMPLETE]\n") {
		t.Errorf("got:\n%s", out)
	}
	if got := c.names(t, "operators") + ", " + c.names(t, "operatorversions"); got != "child parent, child-0.1.0 parent-0.1.0" {
		t.Errorf("there are %s", got)
	}
	if diff := cmp.Diff(map[string]string{"SIZE": "7"}, c.instance(t, "top-child").Spec.Parameters); diff != "" {
		t.Errorf("values of the dependency (-want +got):\n%s", diff)
	}
	if got := c.configMap(t, "top-child").Data["size"]; got != "7" {
		t.Errorf("size %s", got)
	}
	// The folder is the same package. A second Instance has a dependency of its own.
	c.must(t, "install", root, "--instance", "second", "--wait")
	c.configMap(t, "second-child")

	c.must(t, "uninstall", "top", "--wait")
	waittest.Until(t, "the dependency is gone", func() bool {
		_, err := c.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), "top-child", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	// A failure of the bundled package is a failure of the whole package.
	files["child/params.yaml"] = "parameters: [{name: SIZE, type: odd}]"
	c.fails(t, `child/params.yaml: parameters[0].type: "odd" is not one of`, "install", folder(t, files), "--instance", "third")
}

func (c cluster) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	found, err := c.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// testGuestbook installs the example with a bundled package and updates it.
func testGuestbook(t *testing.T, c cluster) {
	example := filepath.Join("..", "..", "..", "examples", "operators", "guestbook", "0.1.0")
	if out := offline(t, "package", "verify", example); out != "package guestbook-1.0.0-0.1.0 is valid (warnings: 0)" {
		t.Error(out)
	}
	c.must(t, "install", example, "--instance", "guestbook", "-p", "STORE_PATH=/srv", "--wait")
	if got := c.configMap(t, "guestbook-store").Data["path"]; got != "/srv" {
		t.Errorf("path %s", got)
	}
	c.fails(t, "parameter 'STORE_PATH' is immutable but was changed from '/srv' to '/mnt'",
		"update", "guestbook", "-p", "STORE_PATH=/mnt")
	c.must(t, "update", "guestbook", "-p", "TITLE=Hello", "--wait")
}

// testNeeded checks dependencies by name, which come from the repository or are on the server,
// and that the version that was found first stays.
func testNeeded(t *testing.T, c cluster) {
	top := folder(t, map[string]string{"operator.yaml": parent("top", "0.1.0", "leaf")})
	c.fails(t, "package top-0.1.0: task t0: there is no repository: add one with \"holdfast kudo repo add\", and no such version of operator leaf in namespace needed",
		"install", top)

	older := repository(t, parent("leaf", "0.1.0"), parent("leaf", "0.2.0"))
	c.fails(t, `package top-0.1.0: task t0: there is no such version of package "leaf" in the repository, `+
		`only leaf-0.2.0, leaf-0.1.0, and no such version`,
		"install", folder(t, map[string]string{"operator.yaml": parent("top", "0.1.0", "leaf 0.9.0")}), "--repo", older)
	if got := c.names(t, "operators") + c.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	c.must(t, "install", top, "--instance", "top", "--repo", older, "--wait")
	if got := c.instance(t, "top-leaf").Spec.OperatorVersion.Name; got != "leaf-0.2.0" {
		t.Errorf("installed %s", got)
	}

	// A newer version in the repository or on the server does not replace the first one.
	newer := repository(t, parent("leaf", "0.2.0"), parent("leaf", "0.3.0"))
	c.must(t, "install", top, "--repo", newer, "--instance", "again", "--wait")
	c.must(t, "install", folder(t, map[string]string{"operator.yaml": parent("leaf", "0.3.0")}), "--instance", "leaf", "--wait")
	c.must(t, "plan", "trigger", "top", "deploy", "--wait")
	for _, name := range []string{"top-leaf", "again-leaf"} {
		if got := c.instance(t, name).Spec.OperatorVersion.Name; got != "leaf-0.2.0" {
			t.Errorf("%s is %s", name, got)
		}
	}

	// A dependency on the server need not be in a repository.
	for name, needed := range map[string]string{"any": "leaf", "exact": "leaf 0.2.0"} {
		c.must(t, "install", folder(t, map[string]string{"operator.yaml": parent(name, "0.1.0", needed)}), "--instance", name, "--wait")
	}
	for name, want := range map[string]string{"any": "0.3.0", "exact": "0.2.0"} {
		version := &api.OperatorVersion{}
		c.read(t, "operatorversions", name+"-0.1.0", version)
		if got := version.Spec.Tasks[0].Spec.OperatorVersion; got != want {
			t.Errorf("%s needs %s", name, got)
		}
	}
}

// read reads an object into a Go value.
func (c cluster) read(t *testing.T, resource, name string, into any) {
	t.Helper()
	found, err := c.resource(resource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, into); err != nil {
		t.Fatal(err)
	}
}

// testCircles checks that circular, too deep and too many dependencies are refused before
// anything is written.
func testCircles(t *testing.T, c cluster) {
	circle := repository(t, parent("a", "0.1.0", "b"), parent("b", "0.1.0", "c"), parent("c", "0.1.0", "a"))
	c.fails(t, "packages depend on each other in a circle: a-0.1.0 -> b-0.1.0 -> c-0.1.0 -> a-0.1.0",
		"install", "a", "--repo", circle)

	var chain []string
	for i := range 9 {
		chain = append(chain, parent(fmt.Sprintf("p%d", i), "0.1.0", fmt.Sprintf("p%d", i+1)))
	}
	deep := repository(t, append(chain, parent("p9", "0.1.0"))...)
	c.fails(t, "more than 8 packages depend on one another: p0-0.1.0 -> p1-0.1.0 -> ", "install", "p0", "--repo", deep)

	wide, names := map[string]string{}, []string{}
	for i := range 64 {
		name := fmt.Sprintf("w%d", i)
		wide[name+"/operator.yaml"] = parent(name, "0.1.0")
		names = append(names, "./"+name)
	}
	wide["operator.yaml"] = parent("wide", "0.1.0", names...)
	c.fails(t, "package wide-0.1.0: more than 64 packages are needed", "install", folder(t, wide))

	twice := folder(t, map[string]string{
		"operator.yaml":   parent("top", "0.1.0", "./a", "./b"),
		"a/operator.yaml": parent("same", "0.1.0"),
		"b/operator.yaml": parent("same", "0.1.0", "leaf 0.1.0"),
	})
	c.fails(t, "package same-0.1.0 is needed more than once, with different content",
		"install", twice, "--repo", repository(t, parent("leaf", "0.1.0")))
	if got := c.names(t, "operators") + c.names(t, "operatorversions") + c.names(t, "instances"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	// The longest chain that is allowed.
	c.must(t, "install", "p2", "--instance", "p2", "--repo", deep)
	if got := len(strings.Fields(c.names(t, "operatorversions"))); got != 8 {
		t.Errorf("%d operator versions", got)
	}
}

// testUpgradeWithDependency checks that an upgrade also upgrades the dependency. The parameter
// file of the task provides the values that become immutable in the dependency. An upgrade that
// the dependency would refuse is refused before anything is written.
func testUpgradeWithDependency(t *testing.T, c cluster) {
	build := func(number, childNumber, childParams string) string {
		return folder(t, map[string]string{
			"operator.yaml":        strings.Replace(bundledParent, "0.1.0", number, 1),
			"templates/child.yaml": "SIZE: 7\n",
			"child/operator.yaml":  strings.Replace(bundledChild, "0.1.0", childNumber, 1),
			"child/params.yaml":    "parameters: [" + childParams + "]",
			"child/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, " +
				"data: {size: '{{ .Params.SIZE }}', version: '{{ .OperatorVersion }}'}}",
		})
	}
	versions := func(want string) {
		t.Helper()
		if got := c.instance(t, "parent").Spec.OperatorVersion.Name + " " + c.instance(t, "parent-child").Spec.OperatorVersion.Name; got != want {
			t.Errorf("the instances have %s, want %s", got, want)
		}
	}
	const demanding = "{name: SIZE, default: 1}, {name: ZONE, immutable: true}"
	c.fails(t, "install refused:\ninstance early-child, on which early depends: parameter 'ZONE' is required",
		"install", build("0.1.0", "0.1.0", demanding), "--instance", "early")
	c.must(t, "install", build("0.1.0", "0.1.0", "{name: SIZE, default: 1}"), "--instance", "parent", "--wait")
	const immutable = "{name: SIZE, default: 1, immutable: true}"
	next := build("0.2.0", "0.2.0", immutable)
	out := c.must(t, "upgrade", next, "--dry-run")
	for _, want := range []string{
		"+++ Instance.kudo.dev parent-child\n", "-    name: child-0.1.0\n", "+    name: child-0.2.0\n",
		"resources: 1 differ, 0 stay as they are\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if got := c.names(t, "operatorversions"); got != "child-0.1.0 parent-0.1.0" {
		t.Errorf("a dry run left %s", got)
	}
	c.must(t, "upgrade", next, "--wait")
	if diff := cmp.Diff(map[string]string{"size": "7", "version": "0.2.0"}, c.configMap(t, "parent-child").Data); diff != "" {
		t.Errorf("the dependency (-want +got):\n%s", diff)
	}

	third := build("0.3.0", "0.3.0", immutable+", {name: NEW, default: d, immutable: true}")
	const refusal = "upgrade refused:\ninstance parent-child, on which parent depends: " +
		"parameter 'NEW' was added in operator version 0.3.0, but no value was provided (default would be d)"
	c.fails(t, refusal, "upgrade", third, "--dry-run")
	c.fails(t, refusal, "upgrade", third, "--wait")
	// The parameter file no longer has a value that an earlier plan applied.
	without := build("0.3.0", "0.3.0", immutable)
	writeFile(t, filepath.Join(without, "templates", "child.yaml"), "{}\n")
	c.fails(t, "upgrade refused:\ninstance parent-child, on which parent depends: parameter 'SIZE' is immutable but was removed (value '7')",
		"upgrade", without)
	if got := c.names(t, "operatorversions"); got != "child-0.1.0 child-0.2.0 parent-0.1.0 parent-0.2.0" {
		t.Errorf("a refused upgrade left %s", got)
	}
	versions("parent-0.2.0 child-0.2.0")

	// A rollback leaves out a version that never worked. The dependency goes back as far.
	broken := build("0.4.0", "0.4.0", immutable)
	operator := strings.NewReplacer("0.1.0", "0.4.0", "tasks: [{name: child,", "tasks: [{name: fail, kind: Dummy, spec: {wantErr: true, fatal: true}}, {name: child,",
		"tasks: [child]}]", "tasks: [child]}, {name: fail, tasks: [fail]}]")
	writeFile(t, filepath.Join(broken, "operator.yaml"), operator.Replace(bundledParent))
	c.fails(t, "plan 'deploy' ended with FATAL_ERROR", "upgrade", broken, "--wait")
	versions("parent-0.4.0 child-0.4.0")
	c.must(t, "upgrade", build("0.5.0", "0.5.0", immutable), "--wait")
	versions("parent-0.5.0 child-0.5.0")
	c.must(t, "rollback", "parent", "--wait")
	versions("parent-0.2.0 child-0.2.0")
	c.must(t, "rollback", "parent", "--wait")
	if diff := cmp.Diff(map[string]string{"size": "7", "version": "0.1.0"}, c.configMap(t, "parent-child").Data); diff != "" {
		t.Errorf("the dependency (-want +got):\n%s", diff)
	}
	// Other content of a version that is on the server is refused before anything is written.
	writeFile(t, filepath.Join(next, "child", "params.yaml"), "parameters: [{name: SIZE, default: 2, immutable: true}]")
	c.fails(t, "operator version child-0.2.0 is in namespace dependency already, with other content",
		"install", next, "--instance", "another")
}

// writeFile replaces a file.
func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
