package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/rules"
	"holdfast.dev/holdfast/internal/yamltest"
)

// edits are test cases for one kind. Each case changes the valid manifest of the kind and has the errors that Validate must
// return then.
//
// set has one change on each line: `path/to/0/field = value`, with a value in YAML. Without a value, the field is removed.
// want has one error message on each line. A line that ends in a backslash continues in the next line.
type edits map[string]struct{ set, want string }

// run runs the cases with objects that have their defaults set.
func (rows edits) run(t *testing.T, kind string) {
	t.Helper()
	rows.runWith(t, kind, defaulted)
}

func (rows edits) runWith(t *testing.T, kind string, read func(testing.TB, []byte) runtime.Object) {
	t.Helper()
	for name, row := range rows {
		t.Run(kind+"/"+name, func(t *testing.T) {
			obj := read(t, edit(t, valid[kind], row.set))
			if diff := cmp.Diff(lines(row.want), messages(rules.Validate(obj))); diff != "" {
				t.Errorf("Validate (-want +got):\n%s", diff)
			}
		})
	}
}

// lines returns the lines of a text without indentation and empty lines. It joins a line that ends in a backslash with the
// next line.
func lines(s string) []string {
	var out []string
	begun := ""
	for line := range strings.Lines(s) {
		line = begun + strings.TrimSpace(line)
		var continues bool
		if begun, continues = strings.CutSuffix(line, `\`); continues {
			continue
		}
		begun = ""
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// messages returns the text of each error.
func messages(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, strings.ReplaceAll(err.Error(), "\n", `\n`))
	}
	return out
}

var scheme = sync.OnceValue(native.NewScheme)

// plain decodes an object strictly, without its defaults.
func plain(t testing.TB, manifest []byte) runtime.Object {
	t.Helper()
	return yamltest.Kind(t, scheme(), manifest)
}

// defaulted decodes an object like the server: strictly, and with its defaults.
func defaulted(t testing.TB, manifest []byte) runtime.Object {
	t.Helper()
	obj := plain(t, manifest)
	scheme().Default(obj)
	return obj
}

// edit makes the changes to a manifest and returns it as JSON.
func edit(t testing.TB, manifest, changes string) []byte {
	t.Helper()
	root := yamltest.Value(t, manifest)
	for _, line := range lines(changes) {
		path, text, ok := strings.Cut(line, " =")
		if !ok {
			t.Fatalf("no = in %q", line)
		}
		value := yamltest.Value(t, text)
		root = set(t, root, strings.Split(path, "/"), value)
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// set sets the value at a path below node and returns node. A nil value removes the field. An index equal to the length of
// a list appends to it.
func set(t testing.TB, node any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	name := strings.ReplaceAll(path[0], "~1", "/")
	index, err := strconv.Atoi(name)
	list, isList := node.([]any)
	if err != nil || !isList && node != nil {
		object, _ := node.(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		if object[name] = set(t, object[name], path[1:], value); object[name] == nil {
			delete(object, name)
		}
		return object
	}
	if index == len(list) {
		list = append(list, nil)
	}
	if list[index] = set(t, list[index], path[1:], value); list[index] == nil {
		list = slices.Delete(list, index, index+1)
	}
	return list
}

func TestValidManifestsHaveNoErrors(t *testing.T) {
	for name, manifest := range valid {
		t.Run(name, func(t *testing.T) {
			obj := defaulted(t, edit(t, manifest, ""))
			if got := messages(rules.Validate(obj)); got != nil {
				t.Errorf("create:\n%s", strings.Join(got, "\n"))
			}
			stored := defaulted(t, edit(t, manifest, "metadata/resourceVersion = '1'"))
			if got := messages(rules.ValidateUpdate(stored, stored)); got != nil {
				t.Errorf("update:\n%s", strings.Join(got, "\n"))
			}
			if got := messages(rules.ValidateStatus(stored, stored)); got != nil {
				t.Errorf("status:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

func TestEveryKindHasAValidManifest(t *testing.T) {
	for _, kind := range native.Kinds() {
		if valid[kind.Name()] == "" {
			t.Errorf("no valid manifest of kind %s", kind.Name())
		}
	}
}

// TestEmptyObjects validates an empty object of each kind. Nothing may panic, and each error must have a path.
func TestEmptyObjects(t *testing.T) {
	for _, kind := range native.Kinds() {
		t.Run(kind.Name(), func(t *testing.T) {
			obj := kind.New()
			for _, err := range rules.Validate(obj) {
				if err.Field == "" || fmt.Sprint(err.Field) == "<nil>" {
					t.Errorf("error without a path: %v", err)
				}
			}
		})
	}
}
