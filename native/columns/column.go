package columns

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// What Kubernetes prints for a value that is not there, by column.
const (
	none    = "<none>"
	unset   = "<unset>"
	unknown = "<unknown>"
)

// column is a column's definition and its cell in the row of an object.
type column struct {
	metav1.TableColumnDefinition

	cell func(obj runtime.Object, now time.Time) any
}

// table lays out columns.
func table(columns ...column) Table {
	definitions := make([]metav1.TableColumnDefinition, len(columns))
	for i, c := range columns {
		definitions[i] = c.TableColumnDefinition
	}
	return Table{Columns: definitions, row: func(obj runtime.Object, now time.Time) []any {
		cells := make([]any, len(columns))
		for i, c := range columns {
			cells[i] = c.cell(obj, now)
		}
		return cells
	}}
}

// text is a column of strings, the usual one.
func text[T runtime.Object](name, doc string, cell func(T) string) column {
	return timed(name, doc, func(obj T, _ time.Time) string { return cell(obj) })
}

// timed is a column of strings that depend on what time it is.
func timed[T runtime.Object](name, doc string, cell func(T, time.Time) string) column {
	return column{
		metav1.TableColumnDefinition{Name: name, Type: "string", Description: doc},
		func(obj runtime.Object, now time.Time) any { return cell(obj.(T), now) },
	}
}

// number is a column of integers.
func number[T runtime.Object, N int | int32 | int64](name, doc string, cell func(T) N) column {
	return column{
		metav1.TableColumnDefinition{Name: name, Type: "integer", Description: doc},
		func(obj runtime.Object, _ time.Time) any { return int64(cell(obj.(T))) },
	}
}

// flag is a column of booleans.
func flag[T runtime.Object](name, doc string, cell func(T) bool) column {
	return column{
		metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: doc},
		func(obj runtime.Object, _ time.Time) any { return cell(obj.(T)) },
	}
}

// wide returns c as a column that is shown with `-o wide` only.
func (c column) wide() column {
	c.Priority = 1
	return c
}

// named returns c as the column whose cells clients take for the object's name.
func (c column) named() column {
	c.Format = "name"
	return c
}

var metadata = metav1.ObjectMeta{}.SwaggerDoc()

// name and age are columns of nearly every kind.
var (
	name = text("Name", metadata["name"], func(obj object) string { return obj.GetName() }).named()
	age  = timed("Age", metadata["creationTimestamp"], func(obj object, now time.Time) string {
		return since(obj.GetCreationTimestamp().Time, now)
	})
)

// createdAt is the table of kinds that Kubernetes has no columns for.
var createdAt = func() Table {
	created := text("Created At", metadata["creationTimestamp"], func(obj object) string {
		return obj.GetCreationTimestamp().UTC().Format(time.RFC3339)
	})
	created.Type = "date"
	return table(name, created)
}()

type object interface {
	runtime.Object
	metav1.Object
}

// containers and images are what the pods of a workload run.
func containers[T runtime.Object](of func(T) []corev1.Container) column {
	return text("Containers", "Containers of a pod, by name", func(obj T) string {
		return join(of(obj), func(c corev1.Container) string { return c.Name })
	})
}

func images[T runtime.Object](of func(T) []corev1.Container) column {
	return text("Images", "Images that the containers run", func(obj T) string {
		return join(of(obj), func(c corev1.Container) string { return c.Image })
	})
}

func join[T any](list []T, show func(T) string) string {
	shown := make([]string, len(list))
	for i, item := range list {
		shown[i] = show(item)
	}
	return strings.Join(shown, ",")
}

// firstThree shows up to three of list and says how many more there are.
func firstThree(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:3], ","), len(list)-3)
	}
	return strings.Join(list, ",")
}

// since is how long ago t was, as people say it.
func since(t, now time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t))
}

// or returns what value points at, and absent when it points at nothing.
func or[T ~string](value *T, absent string) string {
	if value == nil {
		return absent
	}
	return string(*value)
}

// orEmpty returns value, and absent when there is none.
func orEmpty(value, absent string) string {
	if value == "" {
		return absent
	}
	return value
}

// deref returns what value points at, and zero when it points at nothing.
func deref[T any](value *T) T {
	if value == nil {
		return *new(T)
	}
	return *value
}
