package generate_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/definition/generate"
	"holdfast.dev/holdfast/schema"
)

// ours matches the lines with keywords of Holdfast.
var ours = regexp.MustCompile(
	`(?m)^ *x-kubernetes-(immutable|immutable-keys|addition-only|deletion-only|no-prune|normalize): \w+\n|^ *x-kubernetes-update:\n( *- No\w+\n)+`)

// TestSample generates the definitions of the sample API. Without the keywords of Holdfast they
// are, byte for byte, those of controller-gen.
func TestSample(t *testing.T) {
	t.Parallel()
	result, err := generate.Run(t.Context(), generate.Options{Packages: []string{"./testdata/api/..."}})
	if err != nil {
		t.Fatal(err)
	}
	wantWarning := "testdata/api/v1/boat.go:73:2: +k8s:immutable on field Name of BoatSpec: the field is optional, and cannot be set later; " +
		"the CEL rules of controller-gen allow to set it once: write +setOnce for that"
	if diff := cmp.Diff(wantWarning, result.Warnings.Error()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	want := controllerGen(t, "./testdata/api/...")
	var names, wantNames []string
	for name := range want {
		wantNames = append(wantNames, name)
	}
	slices.Sort(wantNames)
	for _, file := range result.Files {
		names = append(names, file.Name)
		got := ours.ReplaceAllString(string(file.Data), "")
		if diff := cmp.Diff(want[file.Name], got); diff != "" {
			t.Errorf("%s differs from controller-gen's (-want +got):\n%s", file.Name, diff)
		}
	}
	if diff := cmp.Diff(wantNames, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	wantKeywords := map[string][]string{
		"harbour.example.com_boats.yaml": {
			"properties[spec].properties[berth] x-kubernetes-update [NoUnset NoModify]",
			"properties[spec].properties[captain] x-kubernetes-update [NoSet NoUnset]",
			"properties[spec].properties[cargo] x-kubernetes-deletion-only",
			"properties[spec].properties[engine] x-kubernetes-immutable",
			"properties[spec].properties[engines] x-kubernetes-update [NoUnset NoRemoveItem]",
			"properties[spec].properties[engines].items.properties[name] x-kubernetes-immutable",
			"properties[spec].properties[extra] x-kubernetes-no-prune",
			"properties[spec].properties[flags] x-kubernetes-addition-only",
			"properties[spec].properties[home] x-kubernetes-immutable",
			"properties[spec].properties[hull] x-kubernetes-immutable",
			"properties[spec].properties[keel] x-kubernetes-immutable",
			"properties[spec].properties[masts] x-kubernetes-immutable-keys",
			"properties[spec].properties[masts].items.properties[name] x-kubernetes-immutable",
			"properties[spec].properties[moorings] x-kubernetes-addition-only",
			"properties[spec].properties[moorings].items.properties[name] x-kubernetes-immutable",
			"properties[spec].properties[name] x-kubernetes-immutable",
			"properties[spec].properties[notes] x-kubernetes-normalize",
			"properties[spec].properties[owners] x-kubernetes-addition-only",
			"properties[spec].properties[owners].items.properties[name] x-kubernetes-immutable",
			"properties[spec].properties[radio] x-kubernetes-update [NoModify]",
			"properties[spec].properties[registration] x-kubernetes-immutable",
		},
		"harbour.example.com_locks.yaml": {
			"properties[spec] x-kubernetes-immutable",
			"properties[spec].properties[depth] x-kubernetes-update [NoSet]",
		},
	}
	for _, file := range result.Files {
		if diff := cmp.Diff(wantKeywords[file.Name], keywords(t, file.Data)); diff != "" {
			t.Errorf("keywords in %s (-want +got):\n%s", file.Name, diff)
		}
	}
}

// controllerGen runs the generator of controller-gen. In a test it does not know its version.
func controllerGen(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	var generator genall.Generator = crd.Generator{}
	runtime, err := genall.Generators{&generator}.ForRoots(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	files := output{}
	runtime.OutputRules.Default = files
	if runtime.Run() {
		t.Fatal("controller-gen has errors")
	}
	version := regexp.MustCompile(`(?m)(controller-gen.kubebuilder.io/version: ).*$`)
	texts := map[string]string{}
	for name, data := range files {
		texts[name] = version.ReplaceAllString(data.String(), "${1}"+generate.ControllerTools)
	}
	return texts
}

type output map[string]*bytes.Buffer

func (o output) Open(_ *loader.Package, name string) (io.WriteCloser, error) {
	o[name] = &bytes.Buffer{}
	return file{o[name]}, nil
}

type file struct{ io.Writer }

func (file) Close() error { return nil }

// keywords returns the places of the keywords of Holdfast in the first version.
func keywords(t *testing.T, data []byte) []string {
	t.Helper()
	var def struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &def); err != nil {
		t.Fatal(err)
	}
	s, _, err := schema.Decode(def.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	schema.Walk(s, func(at *schema.Visit) bool {
		for name, set := range map[string]bool{
			schema.ImmutableKeyword: at.Schema.Immutable != nil, schema.ImmutableKeysKeyword: at.Schema.ImmutableKeys != nil,
			schema.AdditionOnlyKeyword: at.Schema.AdditionOnly != nil, schema.DeletionOnlyKeyword: at.Schema.DeletionOnly != nil,
			schema.NoPruneKeyword: at.Schema.NoPrune != nil, schema.NormalizeKeyword: at.Schema.Normalize != nil,
		} {
			if set {
				found = append(found, fmt.Sprintf("%s %s", at.Path, name))
			}
		}
		if at.Schema.Update != nil {
			found = append(found, fmt.Sprintf("%s %s %v", at.Path, schema.UpdateKeyword, at.Schema.Update))
		}
		return true
	})
	slices.Sort(found)
	return found
}

// TestWrongUses compares the errors with the comments "want" in the source. The messages in
// wanted are for lines that are comments themselves.
func TestWrongUses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file   string
		wanted []string
	}{
		"markers": {"testdata/wrong/v1/wrong.go", []string{
			"testdata/wrong/v1/wrong.go: +immutableKeys is no marker: write +immutable=keys",
			"testdata/wrong/v1/wrong.go: +addition-only is no marker: write +additionOnly",
			"testdata/wrong/v1/wrong.go:68: +immutable: true is no marker: write +immutable",
			"testdata/wrong/v1/wrong.go: +imutable is no marker: write +immutable",
			"testdata/wrong/v1/wrong.go: +k8s:Update=NoSet is no marker: write +k8s:update=NoSet,NoUnset,...",
			"testdata/wrong/v1/wrong.go: + setOnce is no marker: write +setOnce",
			"testdata/wrong/v1/wrong.go:80: +immutable at the end of a line has no effect: write it on a line above",
			"testdata/wrong/v1/wrong.go:83: +k8s:update=NoSet at the end of a line has no effect: write it on a line above",
			"testdata/wrong/v1/wrong.go:85: +setOnce in a comment of this form has no effect: write it after //",
		}},
		"arguments": {"testdata/unparsed/v1/unparsed.go", []string{
			"testdata/unparsed/v1/unparsed.go: +immutable=values: unknown argument: write +immutable or +immutable=keys",
			"testdata/unparsed/v1/unparsed.go: +normalize: unknown argument: write +normalize=undefined",
			"testdata/unparsed/v1/unparsed.go: +additionOnly=true: unknown argument: write +additionOnly",
			"testdata/unparsed/v1/unparsed.go: +k8s:update=Never: update: " +
				`must be a set of NoSet, NoUnset, NoModify, NoAddItem, NoRemoveItem, and has "Never"`,
			"testdata/unparsed/v1/unparsed.go: +k8s:update=NoSet,NoSet: update: has NoSet twice",
			"testdata/unparsed/v1/unparsed.go: +immutable=true: unknown argument: write +immutable or +immutable=keys",
			"testdata/unparsed/v1/unparsed.go: +noPrune:deep=true: unknown argument: write +noPrune",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := generate.Run(t.Context(), generate.Options{Packages: []string{"./" + test.file[:strings.LastIndexByte(test.file, '/')]}})
			var problems generate.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, problem := range problems {
				got = append(got, normal(t, problem))
			}
			want := slices.Concat(test.wanted, expected(t, test.file))
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// normal returns a problem with its line. If the line is a comment, the problem is about the
// comment itself, and the line is checked here.
func normal(t *testing.T, problem generate.Problem) string {
	t.Helper()
	parts := strings.Split(problem.Position, ":")
	if len(parts) != 3 {
		t.Fatalf("position %q of %q", problem.Position, problem.Message)
	}
	data, err := os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	var line int
	if _, err := fmt.Sscan(parts[1], &line); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(strings.Split(string(data), "\n")[line-1])
	marker, _, _ := strings.Cut(problem.Message, ": ")
	if strings.HasPrefix(text, "// +") && strings.HasPrefix(marker, text[len("// "):]) {
		return parts[0] + ": " + problem.Message
	}
	return fmt.Sprintf("%s:%d: %s", parts[0], line, problem.Message)
}

// expected returns the comments "want" of a file, with their lines.
func expected(t *testing.T, name string) []string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			all = append(all, wanted(files, comment)...)
		}
	}
	return all
}

func wanted(files *token.FileSet, comment *ast.Comment) []string {
	text, ok := strings.CutPrefix(comment.Text, "// want ")
	if !ok {
		return nil
	}
	at := files.Position(comment.Pos())
	return []string{fmt.Sprintf("%s:%d: %s", at.Filename, at.Line, strings.Trim(text, "`"))}
}

// TestLibraryVersion compares the version in the annotation with the one in go.mod.
func TestLibraryVersion(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "sigs.k8s.io/controller-tools "+generate.ControllerTools+"\n") {
		t.Errorf("go.mod requires another version of controller-tools than %s", generate.ControllerTools)
	}
}
