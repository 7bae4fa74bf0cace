package columns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/columns"
	"holdfast.dev/holdfast/internal/yamltest"
)

// now is the current time in all tests. Most objects of the tests were created ten minutes before.
var now = time.Date(2026, 1, 2, 0, 10, 0, 0, time.UTC)

// rows are test cases: an object and its row, with one line "name: cell" for each column. A star marks wide columns.
type rows map[string]struct{ object, want string }

func (cases rows) run(t *testing.T) {
	t.Helper()
	scheme := native.NewPublishedScheme()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := strings.TrimSpace(c.want) + "\n"
			if diff := cmp.Diff(want, row(t, yamltest.Kind(t, scheme, c.object))); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}

// row returns the row of an object, in the format of rows.
func row(t *testing.T, obj runtime.Object) string {
	t.Helper()
	table, ok := columns.For(obj)
	if !ok {
		t.Fatalf("no table for %T", obj)
	}
	cells := table.Cells(obj, now)
	if len(cells) != len(table.Columns) {
		t.Fatalf("%d cells for %d columns", len(cells), len(table.Columns))
	}
	var b strings.Builder
	for i, c := range table.Columns {
		star := strings.Repeat("*", int(c.Priority))
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%s%s: %v", c.Name, star, cells[i])))
	}
	return b.String()
}

// TestEveryKind checks that each built-in kind has a table.
func TestEveryKind(t *testing.T) {
	for _, kind := range native.Kinds() {
		if _, ok := columns.For(kind.Object); !ok {
			t.Errorf("%s: no table for %T, add it to tables.go", kind.Resource, kind.Object)
		}
	}
}

// TestEveryTable checks the tables of all kinds with an empty object: each column has a description, each cell has the type
// of its column, and exactly one column has the format "name".
func TestEveryTable(t *testing.T) {
	scheme := native.NewPublishedScheme()
	tables := 0
	for gvk := range scheme.AllKnownTypes() {
		obj, err := scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		table, ok := columns.For(obj)
		if !ok {
			continue
		}
		tables++
		names := 0
		for i, cell := range table.Cells(obj, now) {
			c := table.Columns[i]
			if c.Description == "" {
				t.Errorf("%s: column %s has no description", gvk.Kind, c.Name)
			}
			if c.Format == "name" {
				names++
			}
			types := map[string]string{"string": "string", "date": "string", "integer": "int64", "boolean": "bool"}
			if got := fmt.Sprintf("%T", cell); got != types[c.Type] {
				t.Errorf("%s: column %s is of type %s, its cell is a %s", gvk.Kind, c.Name, c.Type, got)
			}
		}
		if names != 1 {
			t.Errorf("%s: %d columns have the format name, want 1", gvk.Kind, names)
		}
	}
	// Events have a second table, for events.k8s.io, and the scale subresource has one.
	if want := len(native.Kinds()) + 2; tables != want {
		t.Errorf("%d kinds have a table, want %d", tables, want)
	}
}

// TestNoTable checks that lists and types without a table are not accepted.
func TestNoTable(t *testing.T) {
	for _, obj := range []runtime.Object{&corev1.PodList{}, &corev1.Binding{}, &runtime.Unknown{}} {
		if _, ok := columns.For(obj); ok {
			t.Errorf("%T has a table", obj)
		}
	}
}
