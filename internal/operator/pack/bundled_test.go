package pack_test

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/pack"
)

// needs returns the operator.yaml of a package with a KudoOperator task for each of the
// given packages.
func needs(name string, packages ...string) string {
	text := "name: " + name + "\noperatorVersion: 0.1.0\nplans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: ["
	var names, tasks []string
	for i, needed := range packages {
		names = append(names, fmt.Sprintf("t%d", i))
		tasks = append(tasks, fmt.Sprintf("{name: t%d, kind: KudoOperator, spec: {package: %q}}", i, needed))
	}
	if len(packages) == 0 {
		names, tasks = []string{"t"}, []string{"{name: t, kind: Dummy}"}
	}
	return text + strings.Join(names, ", ") + "]}]}]}}\ntasks: [" + strings.Join(tasks, ", ") + "]\n"
}

// wantFiles checks the names of files.
func wantFiles(t *testing.T, files pack.Files, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// wantPackages checks which packages are found among files, each with its folder. It returns the
// package at the top.
func wantPackages(t *testing.T, files pack.Files, want ...string) *pack.Package {
	t.Helper()
	p, err := files.Parse()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for folder, each := range p.All() {
		found = append(found, folder+" "+each.VersionName())
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	return p
}

// archived returns the files as an archive of them contains them.
func archived(t *testing.T, files pack.Files) pack.Files {
	t.Helper()
	written := &bytes.Buffer{}
	if err := files.Archive(written); err != nil {
		t.Fatal(err)
	}
	again, err := pack.ReadArchive(written)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestBundled(t *testing.T) {
	root := folder(t, map[string]string{
		"operator.yaml":              needs("top", "./zookeeper", "elsewhere", "https://example.com/a.tgz", "./deep/er"),
		"zookeeper/operator.yaml":    needs("zk", "./inner"),
		"zookeeper/params.yaml":      "parameters: [{name: A, default: b}]",
		"zookeeper/templates/a.yaml": "{{ .Params.A }}", "zookeeper/README.md": "words",
		"zookeeper/inner/operator.yaml": needs("inner"),
		"deep/er/operator.yaml":         needs("deep"),
		"examples/operator.yaml":        needs("not-needed"), "examples/templates/b.yaml": "x",
	})
	files, err := pack.LoadFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, files, "deep/er/operator.yaml", "operator.yaml", "zookeeper/inner/operator.yaml",
		"zookeeper/operator.yaml", "zookeeper/params.yaml", "zookeeper/templates/a.yaml")
	if diff := cmp.Diff(files, archived(t, files)); diff != "" {
		t.Errorf("files (-folder +archive):\n%s", diff)
	}
	// An archive may contain other files too, as tar creates it. They are skipped.
	all := archive(t, entry("operator.yaml", needs("top", "./zookeeper")), entry("zookeeper/operator.yaml", needs("zk")),
		entry("zookeeper/templates/a.yaml", "a"), entry("docs/operator.yaml", "words"), entry("templates/x/operator.yaml", "a: template"))
	some, err := pack.ReadArchive(bytes.NewReader(all))
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, some, "operator.yaml", "templates/x/operator.yaml", "zookeeper/operator.yaml", "zookeeper/templates/a.yaml")

	p := wantPackages(t, files, ". top-0.1.0", "deep/er deep-0.1.0", "zookeeper zk-0.1.0", "zookeeper/inner inner-0.1.0")
	// In the OperatorVersion, tasks refer to bundled packages by name and version.
	_, version := p.Resources("default")
	var tasks []string
	for _, task := range version.Spec.Tasks {
		tasks = append(tasks, task.Spec.Package+" "+task.Spec.OperatorVersion)
	}
	if diff := cmp.Diff([]string{"zk 0.1.0", "elsewhere ", "https://example.com/a.tgz ", "deep 0.1.0"}, tasks); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	if p.Operator.Tasks[0].Spec.Package != "./zookeeper" {
		t.Error("Resources changed the package")
	}
}

func TestVerifyBundled(t *testing.T) {
	const versions = "name: a\noperatorVersion: 0.1.0\nplans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [a, b]}]}]}}\n" +
		"tasks: [{name: a, kind: KudoOperator, spec: {package: ./b, operatorVersion: 0.2.0}}, {name: b, kind: KudoOperator, spec: {package: " +
		"./b, appVersion: 0.2.0}}]\n"
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"names that are not valid folders": {
			files: map[string]string{"operator.yaml": needs("a", "../gone", "./", "/etc", `.\b`, "./b/../..", "./templates/b", "./gone")},
			want: []string{
				`operator.yaml: tasks[0].spec.package: there is no file ../gone/operator.yaml`,
				`operator.yaml: tasks[1].spec.package: "./" is the package itself`,
				`operator.yaml: tasks[2].spec.package: "/etc" is not a path relative to the package`,
				`operator.yaml: tasks[3].spec.package: ".\\b" is not a path relative to the package`,
				`operator.yaml: tasks[4].spec.package: "./b/../.." contains the package`,
				`operator.yaml: tasks[5].spec.package: "./templates/b" is among the templates`,
				`operator.yaml: tasks[6].spec.package: there is no file gone/operator.yaml`,
			},
		},
		"another version": {
			files: map[string]string{"operator.yaml": versions, "b/operator.yaml": needs("b")},
			want: []string{
				`operator.yaml: tasks[0].spec.operatorVersion: the package in folder b has "0.1.0"`,
				`operator.yaml: tasks[1].spec.appVersion: the package in folder b has ""`,
			},
		},
		"findings in a bundled package": {
			files: map[string]string{"operator.yaml": needs("a", "./b"), "b/operator.yaml": needs("b", "./c"), "b/c/operator.yaml": "name: c"},
			want: []string{
				`b/c/operator.yaml: operatorVersion: required`,
				`b/c/operator.yaml: plans: there is no plan deploy`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := pack.Load(folder(t, test.files))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(p.Verify().Err()); got != strings.Join(test.want, "\n") {
				t.Errorf("findings (-want +got):\n%s", cmp.Diff(test.want, strings.Split(got, "\n")))
			}
		})
	}
	_, err := pack.Load(folder(t, map[string]string{
		"operator.yaml": needs("a", "./b", "./c"), "b/operator.yaml": "[", "c/operator.yaml": needs("c"), "c/params.yaml": "[]",
	}))
	for _, want := range []string{"b/operator.yaml: yaml: ", "c/params.yaml: an object is expected"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestHostileBundles reads three packages: one that contains itself through a link, one
// with a link out of the package, and one with packages that bundle each other in so many
// combinations that following each of them would not end.
func TestHostileBundles(t *testing.T) {
	root := folder(t, map[string]string{"operator.yaml": needs("a", "./b")})
	link(t, ".", root, "b")
	if _, err := pack.Load(root); err == nil || !strings.HasSuffix(err.Error(), ": packages are more than 8 deep in one another") {
		t.Errorf("got %v", err)
	}
	root = folder(t, map[string]string{"operator.yaml": needs("a", "./b")})
	link(t, filepath.Dir(folder(t, map[string]string{"operator.yaml": needs("b")})), root, "b")
	if p, err := pack.Load(root); err == nil && p.Bundled != nil {
		t.Error("a package was read from outside")
	}

	files := pack.Files{}
	var below []string
	for depth := 60; depth >= 0; depth-- {
		files[filepath.Join(strings.Repeat("a/", depth), "operator.yaml")] = []byte(needs("a", below...))
		below = nil
		for i := range 61 - depth {
			below = append(below, "./"+strings.Repeat("a/", i+1), "././"+strings.Repeat("a/", i+1))
		}
	}
	p, err := files.Parse()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for range p.All() {
		count++
	}
	if p.Verify(); count != 61 {
		t.Errorf("%d packages", count)
	}
}
